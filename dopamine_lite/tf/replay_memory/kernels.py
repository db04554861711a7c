"""The compiled inner loops of the replay memory.

Each kernel is a pure loop over NumPy arrays: it takes contiguous arrays that its caller has
judged, and random numbers that its caller has drawn, never raises, and releases the GIL. Numba
compiles a kernel the first time it meets an item type and keeps the result on disk.

Sum trees are heaps in one float64 array: the root at 1, the children of node i at 2i and 2i + 1,
the leaves in the upper half; place 0 is not used.

Legend: B batch, K stack size, N replay capacity, P items of a frame, R items of a reward, n update
horizon.
"""

import numba


def _compiled(function):
    """Compiles on first use; keeps the result on disk unless no folder there can be written."""
    try:
        return numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:  # numba found no place for its cache
        return numba.njit(nogil=True)(function)


@_compiled
def tree_set_one(heap, index, value):
    """Sets one leaf and recomputes every sum above it.

    Args:
      heap: float64 [2 * leaves].
      index: the leaf, in [0, leaves).
      value: its new value.
    """
    node = index + heap.shape[0] // 2
    heap[node] = value
    while node > 1:
        node >>= 1
        heap[node] = heap[2 * node] + heap[2 * node + 1]


@_compiled
def tree_set(heap, capacity, limit, indices, values):
    """Sets leaves and recomputes every sum above them; the last of equal indices wins.

    Nothing changes unless each index is in [0, capacity) and each value in [0, limit].

    All leaves go up together, level by level, so that the memory accesses overlap.

    Args:
      heap: float64 [2 * leaves].
      capacity: leaves that may be set; the rest is padding.
      limit: the largest value allowed.
      indices: int64 [B]; overwritten unless an element is out of bounds.
      values: float64 [B].

    Returns:
      -1, or the position in the batch of the first element that is out of bounds.
    """
    leaves = heap.shape[0] // 2
    for b in range(indices.shape[0]):
        # Written so that NaN, which compares false with everything, is out of bounds.
        if not (0 <= indices[b] < capacity and 0.0 <= values[b] <= limit):
            return b
    for b in range(indices.shape[0]):
        indices[b] += leaves
        heap[indices[b]] = values[b]
    level = leaves
    while level > 1:
        for b in range(indices.shape[0]):
            indices[b] >>= 1
            heap[indices[b]] = heap[2 * indices[b]] + heap[2 * indices[b] + 1]
        level >>= 1
    return -1


@_compiled
def tree_get(heap, capacity, indices, values):
    """Reads leaves.

    Args:
      heap: float64 [2 * leaves].
      capacity: leaves that may be read.
      indices: int64 [B].
      values: float64 [B], receives the leaves.

    Returns:
      -1, or the position in the batch of the first index outside [0, capacity).
    """
    leaves = heap.shape[0] // 2
    for b in range(indices.shape[0]):
        if not 0 <= indices[b] < capacity:
            return b
        values[b] = heap[leaves + indices[b]]
    return -1


@_compiled
def tree_rebuild(heap):
    """Recomputes every sum from the leaves."""
    for node in range(heap.shape[0] // 2 - 1, 0, -1):
        heap[node] = heap[2 * node] + heap[2 * node + 1]


@_compiled
def tree_find(heap, masses, found):
    """Finds the leaf in whose share of the total each mass falls.

    The descent goes left when the mass is below the left sum, otherwise right with what is left of
    the mass. Rounding can leave a little too much mass for the right side, and a mass may equal the
    total: an empty right side is therefore never entered, so that no empty leaf is found.

    All masses go down together, level by level, so that the memory accesses overlap.

    Args:
      heap: float64 [2 * leaves], its root above zero.
      masses: float64 [B], in [0, root]; overwritten.
      found: int64 [B], receives the leaves.
    """
    leaves = heap.shape[0] // 2
    found[:] = 1
    level = 1
    while level < leaves:
        for b in range(masses.shape[0]):
            node = 2 * found[b]
            if masses[b] >= heap[node] and heap[node + 1] > 0.0:
                masses[b] -= heap[node]
                node += 1
            found[b] = node
        level *= 2
    found -= leaves


@_compiled
def valid_transitions(indices, terminals, ends, excluded, first, last, stack_size, horizon, valid):
    """Tells which transitions may be sampled.

    Args:
      indices: int64 [B].
      terminals: any numeric type [N or more], not zero at a terminal.
      ends: bool [N], true where an episode ends, by a terminal or a cut.
      excluded: int64 [any], indices that may not be sampled.
      first: the lowest index that may be sampled.
      last: one above the highest, at most N.
      stack_size: K, frames of a state.
      horizon: n.
      valid: bool [B], receives the result.
    """
    capacity = ends.shape[0]
    for b in range(indices.shape[0]):
        index = indices[b]
        good = first <= index < last
        if good:
            for x in excluded:
                if x == index:
                    good = False
        if good:
            for back in range(1, stack_size):
                i = (index - back) % capacity
                if terminals[i] != 0 or ends[i]:
                    good = False
            for ahead in range(horizon):
                i = (index + ahead) % capacity
                if ends[i] and terminals[i] == 0:
                    good = False
        valid[b] = good


@_compiled
def trajectory_ends(indices, terminals, capacity, horizon, next_indices, terminated):
    """Finds where the n steps from each index end: at the first terminal, or after all n.

    Args:
      indices: int64 [B].
      terminals: any numeric type [N or more].
      capacity: N.
      horizon: n.
      next_indices: int64 [B], receives the index of the state after the steps, modulo N.
      terminated: bool [B], receives whether a terminal was among them.
    """
    for b in range(indices.shape[0]):
        length = horizon
        terminated[b] = False
        for step in range(horizon):
            if terminals[(indices[b] + step) % capacity] != 0:
                length = step + 1
                terminated[b] = True
                break
        next_indices[b] = (indices[b] + length) % capacity


@_compiled
def discounted_sums(indices, next_indices, rewards, discounts, capacity, returns):
    """Sums the discounted rewards from each index up to the next one.

    Args:
      indices: int64 [B].
      next_indices: int64 [B], at most n steps ahead, modulo N.
      rewards: [N or more, R].
      discounts: float32 [n], the powers of gamma.
      capacity: N.
      returns: [B, R], receives the sums.
    """
    for b in range(indices.shape[0]):
        start = indices[b] % capacity
        # A horizon as long as the capacity ends where it began.
        length = (next_indices[b] - start - 1) % capacity + 1
        for r in range(rewards.shape[1]):
            total = discounts[0] * rewards[start, r]
            for step in range(1, length):
                total += discounts[step] * rewards[(start + step) % capacity, r]
            returns[b, r] = total


@_compiled
def gather_stacks(frames, indices, capacity, states):
    """Writes the stack of frames that ends at each index, oldest first, into a batch.

    One pass: each item of a stored frame goes straight to its place on the last axis of the batch.

    Args:
      frames: any item type [N or more, P].
      indices: int64 [B].
      capacity: N.
      states: the same item type [B, P, K].
    """
    items = frames.shape[1]
    stack_size = states.shape[2]
    for b in range(indices.shape[0]):
        if stack_size == 4:
            # The usual stack. Unrolled, the compiler interleaves it in vector registers.
            a = frames[(indices[b] - 3) % capacity]
            c = frames[(indices[b] - 2) % capacity]
            d = frames[(indices[b] - 1) % capacity]
            e = frames[indices[b] % capacity]
            state = states[b]
            for p in range(items):
                state[p, 0] = a[p]
                state[p, 1] = c[p]
                state[p, 2] = d[p]
                state[p, 3] = e[p]
        else:
            for k in range(stack_size):
                frame = frames[(indices[b] - stack_size + 1 + k) % capacity]
                for p in range(items):
                    states[b, p, k] = frame[p]
