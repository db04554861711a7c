"""Makes a video of a trained agent.

python -m dopamine_lite.utils.example_viz --agent=rainbow --game=SpaceInvaders --num_steps=1000 \\
    --root_dir=/tmp/viz --restore_checkpoint=.../tf_ckpt-199 [--use_legacy_checkpoint]
"""

from absl import app, flags

from dopamine_lite.utils import example_viz_lib

flags.DEFINE_string('agent', 'dqn', 'The agent: dqn or rainbow.')
flags.DEFINE_string('game', 'Breakout', 'The Atari game.')
flags.DEFINE_string('root_dir', '/tmp/dopamine/', 'The folder for frames, video and logs.')
flags.DEFINE_string(
    'restore_checkpoint', None, 'The TensorFlow checkpoint to play with: .../tf_ckpt-199.'
)
flags.DEFINE_integer('num_steps', 2000, 'Agent steps to play.')
flags.DEFINE_boolean(
    'use_legacy_checkpoint',
    False,
    'Whether the variables of the checkpoint are named as before Dopamine 3.',
)

FLAGS = flags.FLAGS


def main(_):
    """Plays with the agent that the flags name."""
    example_viz_lib.run(
        agent=FLAGS.agent,
        game=FLAGS.game,
        num_steps=FLAGS.num_steps,
        root_dir=FLAGS.root_dir,
        restore_ckpt=FLAGS.restore_checkpoint,
        use_legacy_checkpoint=FLAGS.use_legacy_checkpoint,
    )


if __name__ == '__main__':
    flags.mark_flag_as_required('restore_checkpoint')
    app.run(main)
