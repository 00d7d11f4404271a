"""Gradient-boosted oblivious trees over bytes: what `train_content.py` fits, and the extension judges with.

Every level of a tree asks one question of all blocks ("is feature f above border b?"), so a tree of depth 6 is six
questions and 64 leaves. Labels are shares from 0 to 1, the loss is cross-entropy. Needs numpy and numba; knows nothing
of pages.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numba import njit

# A feature's values are told apart by at most one border less.
BINS = 64


@dataclass(frozen=True)
class Shape:
    """How large a forest is and how it learns."""

    trees: int
    rate: float
    depth: int = 6
    # Of the features, how many a level may ask; of the blocks, how many a tree sees.
    feature_share: float = 0.2
    block_share: float = 0.7
    # As many blocks of mean weight as pull each leaf towards 0.
    pull: float = 6.0


@dataclass
class Forest:
    """Trees as tables: for each the features and borders of its levels, and its leaves."""

    depth: int
    bias: float
    features: list[list[int]] = field(default_factory=list)
    borders: list[list[int]] = field(default_factory=list)
    leaves: list[Any] = field(default_factory=list)

    def judge(self, columns: Any) -> Any:
        """The probability of each block; a column for each feature."""
        sums = _sum_leaves(
            np.ascontiguousarray(columns),
            np.array(self.features, np.int32),
            np.array(self.borders, np.uint8),
            np.array(self.leaves, np.float32),
            np.float32(self.bias),
        )
        return (1 / (1 + np.exp(-sums))).astype(np.float32)

    def to_bytes(self) -> bytes:
        """As the extension reads it."""
        tables = np.array(self.features, np.uint8).tobytes() + np.array(self.borders, np.uint8).tobytes()
        tables += bytes(-len(tables) % 4)
        head = struct.pack("<IIf", len(self.leaves), self.depth, self.bias)
        return head + tables + np.array(self.leaves, "<f4").tobytes()


def fit(columns: Any, labels: Any, weights: Any, shape: Shape, seed: int) -> Forest:
    """A forest for these blocks: `columns` has a row for each feature."""
    lot = np.random.default_rng(seed)
    order = lot.permutation(labels.size)
    labels, weights = labels[order].astype(np.float32), weights[order].astype(np.float32)
    borders, used = _choose_borders(columns)
    bins = _as_bins(np.ascontiguousarray(columns[:, order]), borders)
    prior = float((labels * weights).sum() / weights.sum())
    forest = Forest(shape.depth, float(np.log(prior / (1 - prior))))
    sums = np.full(labels.size, forest.bias, np.float32)
    pull = np.float32(shape.pull * weights.mean() * 0.25)
    size, asked = int(labels.size * shape.block_share), max(1, int(used.size * shape.feature_share))
    for _ in range(shape.trees):
        # The blocks are in random order, so any stretch of them is a sample.
        start = int(lot.integers(0, labels.size - size + 1))
        part = slice(start, start + size)
        slopes, bends = _slopes(sums[part], labels[part], weights[part])
        leaf = np.zeros(size, np.uint8)
        features, limits = [], []
        for level in range(shape.depth):
            chosen = lot.choice(used, asked, replace=False)
            gains = _gains(bins, start, chosen, leaf, slopes, bends, 1 << level, pull)
            best = int(gains.argmax())
            features.append(int(chosen[best // BINS]))
            limits.append(best % BINS)
            leaf += (bins[features[-1], part] > limits[-1]).astype(np.uint8) << np.uint8(level)
        values = _leaf_values(leaf, slopes, bends, 1 << shape.depth, pull) * np.float32(shape.rate)
        _add_tree(bins, np.array(features), np.array(limits, np.uint8), values, sums)
        forest.features.append(features)
        forest.borders.append([int(borders[pair]) for pair in zip(features, limits, strict=True)])
        forest.leaves.append(values)
    return forest


def _choose_borders(columns: Any) -> tuple[Any, Any]:
    """Borders of each feature with as many blocks between any two, 255 where there are no more; those that have one."""
    borders = np.full((columns.shape[0], BINS), 255, np.uint8)
    for feature in range(columns.shape[0]):
        mass = np.bincount(columns[feature], minlength=256)
        present = np.flatnonzero(mass)
        found = present[:-1]
        if found.size >= BINS:
            reached = np.floor(np.cumsum(mass[present]) / mass.sum() * (BINS - 1))
            found = present[:-1][np.diff(reached) > 0][: BINS - 1]
        borders[feature, : found.size] = found
    return borders, np.flatnonzero(borders[:, 0] < 255)


def _as_bins(columns: Any, borders: Any) -> Any:
    """Each value as the number of borders below it."""
    values = np.arange(256)
    for feature in range(columns.shape[0]):
        table = np.searchsorted(borders[feature][borders[feature] < 255], values, side="left").astype(np.uint8)
        columns[feature] = table[columns[feature]]
    return columns


@njit(cache=True, fastmath=True)
def _slopes(sums: Any, labels: Any, weights: Any) -> Any:
    slopes, bends = np.empty(sums.size, np.float32), np.empty(sums.size, np.float32)
    for i in range(sums.size):
        p = np.float32(1) / (np.float32(1) + np.exp(-sums[i]))
        slopes[i] = weights[i] * (labels[i] - p)
        bends[i] = weights[i] * p * (np.float32(1) - p)
    return slopes, bends


@njit(cache=True, fastmath=True)
def _gains(bins: Any, start: int, chosen: Any, leaf: Any, slopes: Any, bends: Any, leaves: int, pull: Any) -> Any:
    """What each border of each chosen feature would bring as the question of the next level."""
    gains = np.full(chosen.size * BINS, -1.0, np.float32)
    for c in range(chosen.size):
        sums = np.zeros((leaves * BINS, 2), np.float32)
        column = bins[chosen[c], start : start + leaf.size]
        for i in range(leaf.size):
            at = np.int64(leaf[i]) * BINS + column[i]
            sums[at, 0] += slopes[i]
            sums[at, 1] += bends[i]
        found = np.zeros(BINS, np.float32)
        for which in range(leaves):
            own = sums[which * BINS : (which + 1) * BINS]
            whole_slope, whole_bend = own[:, 0].sum(), own[:, 1].sum()
            slope, bend = np.float32(0), np.float32(0)
            for b in range(BINS - 1):
                slope += own[b, 0]
                bend += own[b, 1]
                rest, left = whole_slope - slope, max(whole_bend - bend, np.float32(0))
                found[b] += slope * slope / (bend + pull) + rest * rest / (left + pull)
        gains[c * BINS : (c + 1) * BINS - 1] = found[: BINS - 1]
    return gains


@njit(cache=True)
def _leaf_values(leaf: Any, slopes: Any, bends: Any, leaves: int, pull: Any) -> Any:
    slope, bend = np.zeros(leaves, np.float64), np.zeros(leaves, np.float64)
    for i in range(leaf.size):
        slope[leaf[i]] += slopes[i]
        bend[leaf[i]] += bends[i]
    return (slope / (bend + pull)).astype(np.float32)


@njit(cache=True)
def _add_tree(bins: Any, features: Any, borders: Any, values: Any, sums: Any) -> None:
    for i in range(sums.size):
        leaf = 0
        for level in range(features.size):
            if bins[features[level], i] > borders[level]:
                leaf |= 1 << level
        sums[i] += values[leaf]


@njit(cache=True)
def _sum_leaves(columns: Any, features: Any, borders: Any, leaves: Any, bias: Any) -> Any:
    sums = np.full(columns.shape[1], bias, np.float32)
    for i in range(sums.size):
        for tree in range(features.shape[0]):
            leaf = 0
            for level in range(features.shape[1]):
                if columns[features[tree, level], i] > borders[tree, level]:
                    leaf |= 1 << level
            sums[i] += leaves[tree, leaf]
    return sums
