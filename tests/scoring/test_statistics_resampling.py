"""Draws: one matrix for all, the same for ever, in bounded memory."""

from __future__ import annotations

import time
import tracemalloc

import numpy as np
import pytest

from harness.scoring.bootstrap import intervals_of
from harness.scoring.resampling import Values
from harness.scoring.statistics import Resampling, Units, replicate


def test_the_draws_of_a_seed_never_change() -> None:
    # Worked out by Python's own integers from PCG64(20050)'s raw words; whoever breaks this moves every
    # interval ever printed.
    drawn = []
    stream = np.random.PCG64(20_050)
    for _ in range(3):
        words = [int(stream.random_raw()) for _ in range(3)]
        halves = [half for word in words for half in (word & 0xFFFFFFFF, word >> 32)][:5]
        places = [half * 5 >> 32 for half in halves]
        drawn.append([places.count(cluster) for cluster in range(5)])
    assert (
        Resampling(resamples=3).counts(5).tolist()
        == drawn
        == [[1, 0, 2, 1, 1], [3, 0, 2, 0, 0], [0, 0, 2, 2, 1]]
    )


@pytest.mark.parametrize("clusters", [1, 2, 7, 360, 5000, 70_000])
def test_every_resample_draws_as_many_clusters_as_there_are(clusters: int) -> None:
    counts = Resampling(resamples=50).counts(clusters)
    assert counts.shape == (50, clusters)
    assert set(counts.sum(axis=1).tolist()) == {clusters}


def test_each_cluster_is_drawn_as_often_as_chance_says() -> None:
    counts = Resampling().counts(360).astype(float)
    # Binomial(360, 1/360) in 720,000 independent-enough cells: mean 1 exactly, variance 1 - 1/360, here
    # within 4 standard errors of about .0017.
    assert counts.mean() == 1
    assert abs(counts.var() - (1 - 1 / 360)) < 0.008
    # 2,000 draws a cluster and as many expected: no cluster is further off than 5 standard deviations.
    assert np.abs(counts.sum(axis=0) - 2000).max() < 5 * np.sqrt(2000)


def test_the_seed_decides_and_nothing_else_does() -> None:
    assert np.array_equal(Resampling(seed=7).counts(30), Resampling(seed=7, resamples=2000).counts(30))
    assert np.array_equal(Resampling(seed=7, resamples=10).counts(30), Resampling(seed=7).counts(30)[:10])
    assert not np.array_equal(Resampling(seed=8).counts(30), Resampling(seed=7).counts(30))


@pytest.mark.parametrize("clusters", [3, 1000, 4999, 5001])
def test_sums_are_those_of_the_counts_in_chunks_and_whole(clusters: int) -> None:
    cells = np.random.default_rng(0).integers(0, 50, (clusters, 4)).astype(float)
    drawing = Resampling(resamples=300)
    # Whole numbers below 2**53: equal to the last bit.
    assert np.array_equal(drawing.weighted_sums(cells), drawing.counts(clusters).astype(float) @ cells)


@pytest.mark.slow
def test_too_large_a_matrix_is_drawn_in_chunks_and_gives_the_same_sums() -> None:
    drawing, more = Resampling(resamples=40), Resampling(resamples=2000)
    cells = np.random.default_rng(1).integers(0, 9, (20_000, 2)).astype(float)
    assert np.array_equal(more.weighted_sums(cells)[:40], drawing.weighted_sums(cells))


def test_the_sums_of_many_clusters_take_little_memory() -> None:
    cells = np.ones((125_000, 3))
    tracemalloc.start()
    try:
        Resampling(resamples=60).weighted_sums(cells)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 64_000_000


def test_the_sums_of_five_thousand_clusters_are_quick() -> None:
    cells = np.random.default_rng(2).random((5000, 100))
    drawing = Resampling(seed=99)
    start = time.process_time()
    drawing.weighted_sums(cells)
    # Drawing included; 0.3 s of one core where this was written, and a wide margin for a slower one.
    assert time.process_time() - start < 3


def test_a_small_matrix_is_kept_and_nobody_can_write_into_it() -> None:
    counts = Resampling().counts(12)
    assert Resampling().counts(12) is counts
    with pytest.raises(ValueError, match="read-only"):
        counts[0, 0] = 5


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Resampling(seed=-1), "seed"),
        (lambda: Resampling(resamples=0), "at least one resample"),
        (lambda: Resampling().counts(0), "clusters"),
        (lambda: Resampling().weighted_sums(np.ones(4)), "shape"),
        (lambda: Units.of(np.ones((3, 1)), [1, 2]), "clusters"),
        (lambda: Units.of(np.ones((3, 1)), [1, 2, 3], [1, 2]), "repeats"),
        (lambda: Units.of(np.ones(3), [1, 2, 3]), "summands"),
        (lambda: Units.of([[1.0], [float("nan")]], [1, 2]), "not finite"),
    ],
)
def test_misuse_is_refused(make: object, says: str) -> None:
    assert callable(make)
    with pytest.raises(ValueError, match=says):
        make()


def test_what_is_stored_repeats_the_draws() -> None:
    assert Resampling(seed=3, resamples=9).described() == {"generator": "PCG64", "seed": 3, "resamples": 9}


def test_clusters_are_numbered_by_their_sorted_labels_so_that_order_of_units_is_nothing() -> None:
    random = np.random.default_rng(4)
    labels = np.array([f"case-{number:03}" for number in range(50)])
    values = random.integers(0, 5, (50, 2)).astype(float)
    order = random.permutation(50)
    one = replicate(Units.of(values, labels), lambda sums: {"x": sums[..., 0]}, Resampling(resamples=20))
    other = replicate(
        Units.of(values[order], labels[order]), lambda sums: {"x": sums[..., 0]}, Resampling(resamples=20)
    )
    assert np.array_equal(one.resampled, other.resampled)
    assert np.array_equal(one.without_each, other.without_each)
    assert one.clusters.tolist() == labels.tolist()


def test_replicates_are_what_a_loop_over_drawn_units_gives() -> None:
    random = np.random.default_rng(5)
    clusters = random.integers(0, 12, 90)
    repeats = random.integers(1, 4, 90)
    x, y = random.integers(0, 9, 90), random.integers(1, 9, 90)
    drawing = Resampling(resamples=25)
    found = replicate(
        Units.of(np.stack([x, y], axis=1), clusters, repeats),
        lambda sums: {"ratio": sums[..., 0] / sums[..., 1], "y": sums[..., 1]},
        drawing,
    )

    def ratio(weights: np.ndarray) -> float:  # type: ignore[type-arg]
        weight = weights[clusters]
        values = [
            (weight * x)[repeats == one].sum() / (weight * y)[repeats == one].sum()
            for one in (1, 2, 3)
            if (weight * y)[repeats == one].sum()
        ]
        return sum(values) / len(values)

    assert found.paths == ("ratio", "y")
    assert found.point[0] == pytest.approx(ratio(np.ones(12)), rel=1e-12)
    assert found.of("ratio") == pytest.approx([ratio(row) for row in drawing.counts(12)], rel=1e-12)
    left = [ratio(np.arange(12) != cluster) for cluster in range(12)]
    assert found.without_each[:, 0] == pytest.approx(left, rel=1e-12)
    with pytest.raises(KeyError):
        found.of("else")


def test_a_repeat_without_a_value_leaves_the_mean_of_the_others() -> None:
    units = Units.of([[1.0, 1.0], [0.0, 0.0]], ["a", "a"], [1, 2])
    found = replicate(units, lambda sums: {"ratio": sums[..., 0] / sums[..., 1]}, Resampling(resamples=2))
    assert found.point.tolist() == [1.0]


def test_what_is_left_without_the_only_cluster_that_counts_is_nothing_and_no_rest_of_rounding() -> None:
    summands = np.array([[0.1, 0.1], [0.2, 0.2], [0.3, 0.3], [0.0, 0.0]])
    found = replicate(
        Units.of(summands, ["a", "a", "a", "b"]),
        lambda sums: {"ratio": sums[..., 0] / sums[..., 1]},
        Resampling(resamples=2),
    )
    assert np.isnan(found.without_each[0, 0])
    assert found.without_each[1, 0] == 1


def test_no_units_have_no_values() -> None:
    found = replicate(
        Units.of(np.empty((0, 2)), []), lambda sums: {"x": sums[..., 0]}, Resampling(resamples=3)
    )
    assert np.isnan(found.point).all() and np.isnan(found.resampled).all()
    assert found.without_each.shape == (0, 1)


def test_a_statistic_of_many_clusters_is_asked_in_parts() -> None:
    seen = []

    def statistic(sums: np.ndarray) -> dict[str, np.ndarray]:  # type: ignore[type-arg]
        seen.append(len(sums))
        return {"x": sums[..., 0] / sums[..., 1]}

    summands = np.ones((30_000, 40))
    found = replicate(Units.of(summands, np.arange(30_000)), statistic, Resampling(resamples=5))
    assert max(seen) <= 25_000
    assert found.without_each.tolist() == [[1.0]] * 30_000


@pytest.mark.parametrize("per_cluster", [1, 3])
@pytest.mark.parametrize("kinds", [4, 400])
def test_units_that_are_alike_count_as_if_each_stood_for_itself(per_cluster: int, kinds: int) -> None:
    generator = np.random.Generator(np.random.PCG64(8))
    kind = np.concatenate([np.arange(kinds), generator.integers(0, kinds, 600 - kinds)])
    generator.shuffle(kind)
    different = generator.integers(0, 9, (kinds, 3)).astype(np.float64)
    clusters = np.array([f"case {place // per_cluster % 150}" for place in range(600)])[::-1]
    if per_cluster == 1:
        clusters = np.array([f"case {place}" for place in range(600)])[::-1]

    def ratio(sums: Values) -> dict[str, Values]:
        return {"ratio": sums[..., 0] / (1 + sums[..., 1] + sums[..., 2])}

    each = replicate(Units.of(different[kind], clusters), ratio, Resampling(resamples=200))
    alike = replicate(Units.of(different, clusters, kind=kind), ratio, Resampling(resamples=200))
    assert alike.point == pytest.approx(each.point, rel=1e-12)
    assert alike.resampled == pytest.approx(each.resampled, rel=1e-12)
    assert alike.without_each == pytest.approx(each.without_each, rel=1e-12)
    assert alike.weights.sum() == len(alike.clusters) == len(set(clusters))
    assert intervals_of(alike)["ratio"] == intervals_of(each)["ratio"]
