#!/usr/bin/env python3
"""Checks the scores of a report against a second implementation, pytrec_eval (TREC's own trec_eval).

    pip install pytrec-eval-terrier==0.5.11
    go -C lab run ./sets run -data DIR -out report.json
    python3 check_metrics.py report.json

For each answerable query the scores in the report and those computed anew from what was found and what is
relevant have to agree to 1e-6. It prints how many were compared, and exits with 1 if one differs.
"""
import json
import sys

import pytrec_eval

# Names of trec_eval's measures by the report's; all@k and any@k follow from its recall and success.
MEASURES = {"recall": "recall", "precision": "P", "ndcg": "ndcg_cut", "any": "success"}


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        report = json.load(f)
    asked = {f"{q['collection']} {q['id']}": q for q in report["queries"] if q["answerable"]}
    relevant = {key: q["relevant"] for key, q in asked.items()}
    run = {key: {unit: 1.0 / (i + 1) for i, unit in enumerate(q["found"])} for key, q in asked.items()}
    cuts = ",".join(str(k) for k in report["k"])
    wanted = {f"{name}.{cuts}" for name in MEASURES.values()} | {"recip_rank"}
    truth = pytrec_eval.RelevanceEvaluator(relevant, wanted).evaluate(run)
    compared, wrong = 0, 0
    for key, q in asked.items():
        for score, value in q["scores"].items():
            expected = expectation(truth.get(key, {}), score)
            compared += 1
            if abs(expected - value) > 1e-6:
                wrong += 1
                print(f"{key}: {score} is {value}, want {expected}")
    print(f"{compared} scores of {len(asked)} queries compared, {wrong} differ")
    sys.exit(1 if wrong or not compared else 0)


def expectation(truth, score):
    if score == "mrr":
        return truth.get("recip_rank", 0.0)
    name, k = score.split("@")
    if name == "all":
        return float(truth.get(f"recall_{k}", 0.0) == 1.0)
    return truth.get(f"{MEASURES[name]}_{k}", 0.0)


main()
