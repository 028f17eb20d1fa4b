"""The binomial distribution, and the chances that a count of successes leaves likely."""

import math

from numba import njit

_STEPS = 40  # of halving an interval of chances


@njit(cache=True, nogil=True)
def at_most(successes, trials, chance):
    """P[at most so many successes]: summed up from the largest term, until terms are nothing."""
    if successes >= trials or chance <= 0:
        return 1.0
    if successes < 0 or chance >= 1:
        return 0.0
    odds = chance / (1 - chance)
    ways = math.lgamma(trials + 1.0) - math.lgamma(successes + 1.0)
    ways -= math.lgamma(trials - successes + 1.0)
    chances = successes * math.log(chance) + (trials - successes) * math.log1p(-chance)
    term, total, k = math.exp(ways + chances), 0.0, successes
    if successes <= trials * chance:
        while k >= 0 and term > total * 1e-17:
            total += term
            term *= k / ((trials - k + 1) * odds)
            k -= 1
        return total
    term *= (trials - k) / (k + 1) * odds
    while k < trials and term > total * 1e-17:
        total += term
        k += 1
        term *= (trials - k) / (k + 1) * odds
    return 1 - total


@njit(cache=True, nogil=True)
def quantile(trials, chance, share):
    """The smallest number of successes that is not passed with probability `share`."""
    low, high = 0, trials
    while low < high:
        middle = (low + high) // 2
        if at_most(middle, trials, chance) >= share:
            high = middle
        else:
            low = middle + 1
    return low


@njit(cache=True, nogil=True)
def likely_chances(trials, tail, out):
    """out[h] = the smallest and the largest chance under which h successes are still likely.

    Clopper and Pearson's interval: h or more, and h or fewer, have at least the probability `tail`.
    """
    for h in range(trials + 1):
        for side in range(2):
            low, high = 0.0, 1.0
            for _ in range(_STEPS):
                middle = (low + high) / 2
                if side == 0:
                    rise = 1 - at_most(h - 1, trials, middle) < tail
                else:
                    rise = at_most(h, trials, middle) > tail
                if rise:
                    low = middle
                else:
                    high = middle
            out[h, side] = low if side == 0 else high
    out[0, 0], out[trials, 1] = 0.0, 1.0
