"""Reading a network: it stays as it was, during the reading and after it, whatever it is made of."""

from __future__ import annotations

import copy
import threading

import pytest
import torch
from torch import nn

from logiclens.concepts import ConceptTable
from logiclens.errors import LogicLensError
from logiclens.explain import explain_all, explain_local, read
from logiclens.nn import EntropyLogicLayer, EntropyNet, LinearIndependent
from logiclens.train.threads import threads_for
from tests.at_once import at_once
from tests.rigged import GRID, NAMES, xor_net

TABLE = ConceptTable(GRID, NAMES)


class Watched(nn.Module):
    """Passes its input on, and records the state of another module during the forward pass."""

    def __init__(self, states):
        super().__init__()
        self.record = lambda: states.append(state(WATCHED[0]))

    def forward(self, x):
        self.record()
        return x


WATCHED: list[nn.Module] = []


def state(network):
    """Everything that a reading may not change: the mode, the hooks and the tensors of every module."""
    return [
        (
            name,
            module.training,
            len(module._forward_pre_hooks),
            len(module._forward_hooks),
            [(key, tensor.clone().tolist()) for key, tensor in (*module._parameters.items(), *module._buffers.items())],
        )
        for name, module in network.named_modules()
    ]


def own_network(states):
    """A user's network: dropout, batch statistics, an entropy layer, and a look at the original from inside."""
    torch.manual_seed(0)
    return nn.Sequential(
        Watched(states),
        EntropyLogicLayer(4, 6, 2),
        nn.ReLU(),
        nn.Dropout(0.5),
        nn.Flatten(),
        nn.BatchNorm1d(12),
        nn.Unflatten(1, (2, 6)),
        LinearIndependent(6, 1, 2, top=True),
    )


@pytest.mark.parametrize("explain", [read, explain_all, lambda network, table: explain_all(network, table).gap()])
@pytest.mark.filterwarnings("ignore:the network (never|always) predicts")
def test_a_network_never_changes_while_it_is_read(explain):
    states = []
    network = own_network(states).train()
    network[1].eval()
    WATCHED[:] = [network]
    before = state(network)
    explain(network, TABLE)
    assert states
    assert all(seen == before for seen in states)
    assert state(network) == before


@pytest.mark.parametrize("activation", [nn.ReLU, nn.RReLU])
def test_the_mode_of_our_own_networks_is_not_touched(activation):
    network = EntropyNet(4, 2, activation=activation, generator=torch.Generator().manual_seed(0)).train()
    modes = []
    network.tail[0].register_forward_hook(lambda *_: modes.append({module.training for module in network.modules()}))
    found = [read(network, TABLE).outputs for _ in range(2)]
    assert modes
    assert set(map(frozenset, modes)) == {frozenset([True])}
    # RReLU is random in training.
    assert (found[0] == found[1]).all()
    assert (found[0] == read(copy.deepcopy(network).eval(), TABLE).outputs).all()


@pytest.mark.filterwarnings("ignore:the network (never|always) predicts")
def test_many_threads_explain_a_users_network_alike():
    networks = [own_network([]).train(), xor_net().train(), nn.Sequential(EntropyNet(4, 2)).train()]
    WATCHED[:] = networks[:1]
    for network in networks:
        expected = read(network, TABLE).outputs
        formulas = explain_all(network, TABLE).formulas
        local = explain_local(network, GRID[3])
        calls = [
            lambda network=network: read(network, TABLE).outputs.tolist(),
            lambda network=network: explain_all(network, TABLE).formulas,
            lambda network=network: explain_local(network, GRID[3]),
        ]
        outputs, explained, rows = at_once(calls, repeats=4)
        assert outputs == [expected.tolist()] * len(outputs)
        assert set(explained) == {formulas}
        assert all(row == local for row in rows)
        assert network.training


def test_readings_that_overlap_do_not_disturb_each_other():
    """Each of two readings waits for the other in the middle of every forward pass."""
    both = threading.Barrier(2, timeout=30)

    class Meeting(nn.Module):
        def forward(self, x):
            both.wait()
            return x

    network = nn.Sequential(EntropyNet(4, 2), Meeting(), nn.Dropout(0.5)).train()
    ((first, second),) = at_once([lambda: read(network, TABLE).outputs.tolist()], n_threads=2)
    assert first == second
    assert first == read(network[0], TABLE).outputs.tolist()


def test_a_network_with_computed_weights_is_read():
    # torch does not copy a tensor that was computed from parameters.
    with pytest.warns(FutureWarning, match="weight_norm"):
        last = nn.utils.weight_norm(nn.Linear(3, 1))
    network = nn.Sequential(EntropyLogicLayer(4, 3, 2), last, nn.Flatten(1))
    expected = network(torch.tensor(GRID, dtype=torch.float32)).detach().numpy()
    assert read(network, TABLE).logits == pytest.approx(expected, abs=1e-6)


def test_a_network_that_cannot_be_copied_is_refused():
    network = xor_net()
    network.lock = threading.Lock()
    with pytest.raises(LogicLensError, match=r"cannot be copied .*lock.*__deepcopy__"):
        read(network, TABLE)


def test_a_thread_started_in_a_block_keeps_its_number():
    """torch gives a new thread the number that was set last, which is 1 inside a block of little work."""
    numbers = []
    before = torch.get_num_threads()
    inside, started, left = threading.Event(), threading.Event(), threading.Event()

    def first():
        with threads_for(1):
            inside.set()
            started.wait(30)
        left.set()

    def second():
        inside.wait(30)
        with threads_for(1):
            numbers.append(torch.get_num_threads())
            with threads_for(1):
                started.set()
            numbers.append(torch.get_num_threads())
            left.wait(30)
        numbers.append(torch.get_num_threads())

    torch.set_num_threads(2)
    try:
        threads = [threading.Thread(target=work) for work in (first, second)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        last = threading.Thread(target=lambda: numbers.append(torch.get_num_threads()))
        last.start()
        last.join()
    finally:
        torch.set_num_threads(before)
    assert numbers == [1, 1, 2, 2]
