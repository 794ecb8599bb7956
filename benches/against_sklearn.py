#!/usr/bin/env python3
"""CPU seconds of scikit-learn and of foldline on the same folds of the same corpus, one after the other.

    python3 benches/against_sklearn.py FOLDLINE CORPUS METHODS.csv [--r3]

FOLDLINE is a release binary. Needs numpy and scikit-learn (the semantics of 1.9), which nothing else here needs. For
each cell five folds are fitted once. foldline's figure is the whole process: reading the corpus, fitting, judging. The
out-of-fold AUROC of both stands beside the times, so that a fast wrong answer would be seen.
"""

import argparse
import csv
import json
import os
import resource
import subprocess
import tempfile
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score


def children_cpu():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def foldline(binary, corpus, methods, cell, out):
    before = children_cpu()
    subprocess.run(
        [binary, "evaluate", corpus, "--methods", methods, "--cells", cell, "--folds", "stem:5x1", "--draws", "1",
         "--stages", "cells", "--threads", "1", "--out", out],
        check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    cpu = children_cpu() - before
    results = json.load(open(os.path.join(out, "results.json")))
    return cpu, results["cells"][cell]["auroc_averaged"]["point"]


def matrix(binary, corpus, methods, representation, folder):
    """The design matrix, dense; the order of the 0/1 columns does not matter for a time."""
    path = os.path.join(folder, f"{representation}.csv")
    subprocess.run([binary, "features", corpus, "--methods", methods, "--representation", representation, "--out", path],
                   check=True, stderr=subprocess.DEVNULL)
    rows = list(csv.DictReader(open(path, newline="")))
    dense = [name for name in rows[0] if name not in ("boundary_id", "ones")]
    x = np.array([[float(row[name]) for name in dense] for row in rows])
    if "ones" in rows[0]:
        ones = [row["ones"].split() for row in rows]
        names = {name: index for index, name in enumerate(sorted({name for row in ones for name in row}))}
        sparse = np.zeros((len(rows), len(names)))
        for index, row in enumerate(ones):
            sparse[index, [names[name] for name in row]] = 1
        x = np.hstack([x, sparse])
    return [row["boundary_id"] for row in rows], x


def labels_and_folds(run, ids):
    outcomes = {row["boundary_id"]: row for row in map(json.loads, open(os.path.join(run, "outcomes.jsonl")))}
    mean = lambda rollouts: sum(counts[3] for counts in rollouts) / len(rollouts)
    y = np.array([mean(outcomes[i]["post"]) - mean(outcomes[i]["pre"]) > 1e-12 for i in ids])
    folds = {row["boundary_id"]: int(row["fold"]) for row in csv.DictReader(open(os.path.join(run, "folds.csv")))}
    return y, np.array([folds[i] for i in ids])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("foldline")
    parser.add_argument("corpus")
    parser.add_argument("methods")
    parser.add_argument("--r3", action="store_true", help="boosted R3 too: scikit-learn needs about a minute for it")
    args = parser.parse_args()
    print(f"{'cell':12} {'sklearn CPU s':>14} {'foldline CPU s':>15} {'ratio':>7} {'AUROC, sklearn':>15} {'foldline':>9}")
    with tempfile.TemporaryDirectory() as folder:
        for representation in ["H", "R1"] + (["R3"] if args.r3 else []):
            run = os.path.join(folder, representation)
            ours, auroc = foldline(args.foldline, args.corpus, args.methods, f"boosted/{representation}", run)
            ids, x = matrix(args.foldline, args.corpus, args.methods, representation, folder)
            y, folds = labels_and_folds(run, ids)
            scores = np.zeros(len(y))
            start = time.process_time()
            for fold in range(5):
                model = HistGradientBoostingClassifier(
                    max_depth=3, learning_rate=0.05, max_iter=200, min_samples_leaf=20, l2_regularization=1.0,
                    max_leaf_nodes=31, max_bins=255, early_stopping=False)
                model.fit(x[folds != fold], y[folds != fold])
                scores[folds == fold] = model.predict_proba(x[folds == fold])[:, 1]
            theirs = time.process_time() - start
            name = f"boosted/{representation}"
            print(f"{name:12} {theirs:14.2f} {ours:15.2f} {theirs / ours:7.1f} {roc_auc_score(y, scores):15.4f} {auroc:9.4f}")


if __name__ == "__main__":
    main()
