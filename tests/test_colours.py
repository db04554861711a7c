"""One look an agent, told apart from the others."""

import itertools

from dopamine_lite import colours


def test_an_agent_looks_the_same_under_each_of_its_names():
    assert colours.agent_name('implicit_quantile') == colours.agent_name('iqn') == 'IQN'
    assert colours.agent_name('Full Rainbow') == colours.agent_name('full_rainbow')
    for alias, name in colours.ALIASES.items():
        assert colours.agent_style(alias) == colours.agent_style(name)
        assert colours.agent_marker(alias) == colours.agent_marker(name)
        assert colours.agent_style(name)['color'] == colours.agent_colour(alias)


def test_no_two_known_agents_share_line_and_colour_or_a_marker():
    names = sorted(set(colours.ALIASES.values()))
    for one, other in itertools.combinations(names, 2):
        assert colours.agent_style(one) != colours.agent_style(other), (one, other)
        assert colours.agent_marker(one) != colours.agent_marker(other), (one, other)


def test_the_agents_compared_most_differ_in_colour():
    names = ('dqn', 'c51', 'rainbow', 'iqn', 'quantile', 'full_rainbow')
    assert len(set(map(colours.agent_colour, names))) == len(names)


def test_an_unknown_agent_has_a_look_of_its_own_whatever_else_is_drawn():
    assert colours.agent_name('My Agent') == 'My Agent'
    known = [colours.agent_style(alias) for alias in colours.ALIASES]
    assert colours.agent_style('My Agent') not in known
    # A fixed value: the look is the same in every process.
    assert (colours.agent_colour('My Agent'), colours.agent_marker('My Agent')) == ('#0072B2', 's')


def test_hexadecimal_colours_are_read():
    assert colours.rgb('#D55E00') == (0xD5, 0x5E, 0x00)
