#!/usr/bin/env python3
"""JAX: two jits that take each other's results, donated buffers and checkpointed layers, with deterministic operations.

Prints the loss and a hash of the weights. While CUPTI records copies, and hands over what it has between the first copies
and the first graph, this graph ends with a launch failure (H200, driver 580.159.04, CUDA 13.0).
"""

import functools
import hashlib
import os

os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_gpu_deterministic_ops=true"
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402


@functools.partial(jax.jit, donate_argnums=(0, 1))
def update(weights, momenta, gradients):
    momenta = jax.tree.map(lambda momentum, gradient: 0.9 * momentum + gradient, momenta, gradients)
    return jax.tree.map(lambda weight, momentum: jnp.round((weight - 0.125 * jnp.sign(momentum)) * 64) / 64, weights, momenta), momenta


@jax.jit
def grads(weights, batch):
    @jax.checkpoint
    def layer(values, weight):
        return jnp.clip(jnp.dot(values, weight, precision="highest") * 0.0625, -1, 1)

    def loss(weights):
        return (functools.reduce(layer, weights, batch) ** 2).mean()

    return jax.value_and_grad(loss)(weights)


random = np.random.RandomState(0)
weights = [jnp.asarray(random.randint(-4, 5, (128, 128)) / 4, jnp.float32) for _ in range(4)]
momenta = [jnp.zeros_like(weight) for weight in weights]
batch = jnp.asarray(random.randint(-2, 3, (64, 128)), jnp.float32)
for _ in range(150):
    loss, gradients = grads(weights, batch)
    weights, momenta = update(weights, momenta, gradients)
print(f"{float(loss):.5f}", hashlib.sha256(b"".join(np.asarray(weight).tobytes() for weight in weights)).hexdigest()[:16])
