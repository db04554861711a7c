"""`dopamine-lite record`: a video of a trained agent at play, beside what it expects."""

import argparse

from dopamine_lite import trained_agent
from dopamine_lite.cli import UserError

SUMMARY = 'makes a video of a trained agent at play, beside what it expects'
EXAMPLE = 'dopamine-lite record runs/cartpole --steps=500'

DEFAULT_OUTPUT = 'recording.mp4'
_SECONDS_AFTER_A_GAME = 0.5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of the command."""
    trained_agent.add_source_arguments(parser)
    parser.add_argument(
        '--steps', metavar='N', type=int, default=1000, help='agent steps; default: 1000'
    )
    parser.add_argument(
        '--output', metavar='FILE', help=f'default: {DEFAULT_OUTPUT} in BASE_DIR, or here'
    )
    parser.add_argument('--gif', action='store_true', help='an animated GIF in the place of an mp4')


def run(arguments: argparse.Namespace) -> int:
    """Plays and records; returns the exit status."""
    from dopamine_lite import drawing, video

    if arguments.steps < 1:
        raise UserError(f'--steps must be at least 1, got {arguments.steps}')
    ending = '.gif' if arguments.gif else '.mp4'
    output = trained_agent.output_path(arguments, DEFAULT_OUTPUT.replace('.mp4', ending))
    if video.check_name(output) == '.mp4' and arguments.gif:
        raise UserError(f'with --gif the output must end in .gif, got {output}')
    video.ffmpeg()
    drawing.figure((1, 1))  # what is not installed is said before anything slow

    player = trained_agent.load_from(arguments)
    drawing.prepare_screen(player.environment)
    checkpoint = '' if player.iteration is None else f', checkpoint {player.iteration}'
    title = f'{player.name}{checkpoint}'
    print(f'{title}, seed {arguments.seed}')

    rate = drawing.frames_per_second(player.environment)
    returns: list[float] = []
    steps, expected, drawer = 0, None, None
    with video.writer(output, rate) as film:
        for moment in player.play():
            image = drawing.screen(player.environment)
            if not moment.over:  # at the end there is nothing to expect
                expected = drawing.estimate(player.agent)
            if drawer is None:
                actions = drawing.action_names(player.environment, player.agent.num_actions)
                drawer = drawing.FrameDrawer(title, actions, expected)
            frame = drawer.draw(
                image,
                expected,
                game=len(returns) + 1,
                step=moment.episode_steps,
                action=moment.action,
                episode_return=moment.episode_return,
            )
            film.add(frame)
            if moment.over:
                returns.append(float(moment.episode_return))
                for _ in range(round(_SECONDS_AFTER_A_GAME * rate)):
                    film.add(frame)
            else:
                steps += 1
                if steps == arguments.steps:
                    break
    finished = ', '.join(f'{value:g}' for value in returns) or 'none finished'
    print(f'{steps} agent steps; returns of the games: {finished}\nRecording: {output}')
    return 0
