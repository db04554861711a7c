from dopamine_lite.discrete_domains import iteration_statistics


def test_values_gather_in_order_under_their_names():
    statistics = iteration_statistics.IterationStatistics()
    assert statistics.data_lists == {}
    statistics.append({'length': 3, 'return': 1.5})
    statistics.append({'length': 4})
    statistics.append({'mean': None})
    assert statistics.data_lists == {'length': [3, 4], 'return': [1.5], 'mean': [None]}
