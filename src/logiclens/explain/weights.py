"""The weights of a network as arrays, as a model folder holds them. Only building the network needs torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from logiclens.errors import LogicLensError
from logiclens.formula.model_record import NetworkRecord

if TYPE_CHECKING:
    from logiclens.nn.committee import Committee
    from logiclens.nn.layers import EntropyNet


@dataclass(frozen=True, eq=False)
class NetworkWeights:
    """The sizes and the weights of a network.

    Attributes:
        sizes: its sizes.
        arrays: its weights, by the names that torch gives them.
        single: whether each head of a committee answers a separate yes/no question.
    """

    sizes: NetworkRecord
    arrays: Mapping[str, NDArray[Any]]
    single: bool = False

    @classmethod
    def of(cls, network: EntropyNet | Committee) -> NetworkWeights:
        """Return the weights of a network.

        Args:
            network: the network.

        Raises:
            LogicLensError: if its activation is not ReLU, the only one that is saved.
        """
        from torch.nn import ReLU

        from logiclens.nn.committee import Committee

        members = network.networks if isinstance(network, Committee) else None
        first = network.networks[0] if isinstance(network, Committee) else network
        if first.activation is not ReLU:
            raise LogicLensError(f"only networks with ReLU are saved, this one has {first.activation.__name__}.")
        sizes = NetworkRecord(
            first.n_concepts,
            first.n_classes,
            tuple(int(width) for width in first.hidden),
            first.shared_tail,
            first.entropy.temperature,
            "relu",
            None if members is None else len(members),
        )
        arrays = {name: tensor.detach().cpu().numpy() for name, tensor in network.state_dict().items()}
        return cls(sizes, arrays, isinstance(network, Committee) and network.single)

    def network(self) -> Any:
        """Return a new network with these weights: an `EntropyNet`, or a `Committee` if there are members."""
        import torch

        from logiclens.nn.committee import Committee
        from logiclens.nn.layers import EntropyNet

        sizes = self.sizes
        made = [
            EntropyNet(
                sizes.n_concepts,
                sizes.n_heads,
                sizes.hidden,
                sizes.shared_tail,
                temperature=sizes.temperature,
                # The initial weights do not matter, but drawing them must not change torch's global generator.
                generator=torch.Generator(),
            )
            for _ in range(sizes.members or 1)
        ]
        network = made[0] if sizes.members is None else Committee(made, single=self.single)
        state = {name: torch.tensor(array) for name, array in self.arrays.items()}
        network.to(next(tensor.dtype for tensor in state.values() if tensor.is_floating_point()))
        network.load_state_dict(state)
        return network

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shape that each array must have, by the sizes."""
        sizes = self.sizes
        heads = () if sizes.shared_tail else (sizes.n_heads,)
        shapes: dict[str, tuple[int, ...]] = {
            "entropy.weight": (sizes.n_heads, sizes.hidden[0], sizes.n_concepts),
            "entropy.bias": (sizes.n_heads, sizes.hidden[0]),
            "entropy.keep": (sizes.n_heads, sizes.n_concepts),
        }
        # Every second part of the tail is an activation.
        for place, (width_in, width_out) in enumerate(zip(sizes.hidden, (*sizes.hidden[1:], 1), strict=True)):
            shapes[f"tail.{2 * place + 1}.weight"] = (*heads, width_out, width_in)
            shapes[f"tail.{2 * place + 1}.bias"] = (*heads, width_out)
        if sizes.members is None:
            return shapes
        return {f"members.{member}.{name}": shape for member in range(sizes.members) for name, shape in shapes.items()}
