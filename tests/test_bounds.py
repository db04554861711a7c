import numpy as np
import pytest

from dopamine_lite import bounds

NAN, INF = float('nan'), float('inf')

# Requirement -> (what passes, what does not).
CASES = {
    'finite': (bounds.require_finite, [0, -1.5, np.float32(2), np.int8(-3)], [True]),
    'at least': (lambda **v: bounds.require_at_least(2, **v), [2, 2.5, np.uint8(9)], [1.9, -5]),
    'whole': (lambda **v: bounds.require_whole(0, **v), [0, 7, np.int64(7)], [-1, 7.0, 0.5]),
    'above': (lambda **v: bounds.require_above(0, **v), [1, 1e-9], [0, -1]),
    'share': (bounds.require_share, [0, 1, 0.5, np.float64(0.5)], [-0.1, 1.1]),
    'flag': (bounds.require_flag, [True, False, np.True_, 1, 0], ['False', 2, 0.5]),
}


@pytest.mark.parametrize('case', CASES)
def test_what_passes_and_what_is_refused_by_name(case):
    require, good, bad = CASES[case]
    require(**{f'good_{i}': value for i, value in enumerate(good)})
    for value in (*bad, NAN, INF, -INF, 'x', None, [1]):
        with pytest.raises(ValueError, match='^bad must be .*, got '):
            require(good=good[0], bad=value)


@pytest.mark.parametrize('value', [None, 1, b'x', {'a': 1}, ['x']])
def test_what_is_no_text(value):
    bounds.require_text(good='', better=np.str_('x'))
    with pytest.raises(ValueError, match='^bad must be a text, got '):
        bounds.require_text(good='x', bad=value)
