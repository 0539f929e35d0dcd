"""The weights of a network as arrays, as a model folder holds them. Only building the network needs torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from logiclens.errors import LogicLensError
from logiclens.formula.model_record import NetworkRecord

if TYPE_CHECKING:
    from logiclens.nn.layers import EntropyNet
    from logiclens.nn.rule_net import RuleNet


@dataclass(frozen=True, eq=False)
class NetworkWeights:
    """The sizes and the weights of a network.

    Attributes:
        sizes: its sizes.
        arrays: its weights, by the names that torch gives them.
    """

    sizes: NetworkRecord
    arrays: Mapping[str, NDArray[Any]]

    @classmethod
    def of(cls, network: EntropyNet | RuleNet) -> NetworkWeights:
        """Return the weights of a network.

        Args:
            network: the network.

        Raises:
            LogicLensError: if its activation is not ReLU, the only one that is saved.
        """
        from torch.nn import ReLU

        from logiclens.nn.rule_net import RuleNet

        inner = network.network if isinstance(network, RuleNet) else network
        if inner.activation is not ReLU:
            raise LogicLensError(f"only networks with ReLU are saved, this one has {inner.activation.__name__}.")
        sizes = NetworkRecord(
            network.n_concepts,
            inner.n_classes,
            tuple(int(width) for width in inner.hidden),
            inner.entropy.temperature,
            "relu",
            inner.n_concepts - network.n_concepts,
        )
        arrays = {name: tensor.detach().cpu().numpy() for name, tensor in network.state_dict().items()}
        return cls(sizes, arrays)

    def network(self) -> Any:
        """Return a new network with these weights: an `EntropyNet`, or a `RuleNet` if it sees rules."""
        import torch

        from logiclens.nn.layers import EntropyNet
        from logiclens.nn.rule_net import RuleNet

        sizes = self.sizes
        inner = EntropyNet(
            sizes.n_concepts + sizes.rules,
            sizes.n_heads,
            sizes.hidden,
            temperature=sizes.temperature,
            # The initial weights do not matter, but drawing them must not change torch's global generator.
            generator=torch.Generator(),
        )
        cubes = torch.zeros((sizes.rules, sizes.n_concepts), dtype=torch.int8)
        network = RuleNet(inner, cubes) if sizes.rules else inner
        state = {name: torch.tensor(array) for name, array in self.arrays.items()}
        network.to(next(tensor.dtype for tensor in state.values() if tensor.is_floating_point()))
        network.load_state_dict(state)
        return network

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shape that each array must have, by the sizes."""
        sizes = self.sizes
        n_inputs = sizes.n_concepts + sizes.rules
        shapes: dict[str, tuple[int, ...]] = {
            "entropy.weight": (sizes.n_heads, sizes.hidden[0], n_inputs),
            "entropy.bias": (sizes.n_heads, sizes.hidden[0]),
            "entropy.keep": (sizes.n_heads, n_inputs),
        }
        # Every second part of the tail is an activation.
        for place, (width_in, width_out) in enumerate(zip(sizes.hidden, (*sizes.hidden[1:], 1), strict=True)):
            shapes[f"tail.{2 * place + 1}.weight"] = (sizes.n_heads, width_out, width_in)
            shapes[f"tail.{2 * place + 1}.bias"] = (sizes.n_heads, width_out)
        if not sizes.rules:
            return shapes
        inner = {f"network.{name}": shape for name, shape in shapes.items()}
        return {"cubes": (sizes.rules, sizes.n_concepts), **inner}
