#!/bin/sh
# Everything that only a GPU can show, in under ten minutes, without a network:
#
#     benchmarks/gpu.sh                                      # writes benchmarks/results/gpu.json
#     benchmarks/gpu.sh --model FOLDER                       # all-MiniLM-L6-v2, as fp16 it has 45 MB
#     benchmarks/gpu.sh --device cpu --output gpu-cpu.json   # the same checks, tiny, without a GPU
#
# It takes the first Python that has torch: $PYTHON, the environment of the repository, or that of
# the system. What else is missing is said, check by check; nothing is installed.
has_torch='import sys; from importlib.util import find_spec; sys.exit(find_spec("torch") is None)'
cd "$(dirname "$0")/.." || exit 2
for python in "$PYTHON" .venv/bin/python python3 python; do
    if [ -n "$python" ] && "$python" -c "$has_torch" 2>/dev/null; then
        PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}" exec "$python" benchmarks/gpu.py "$@"
    fi
done
echo "gpu.sh: no Python here has torch; name one that has: PYTHON=/path/to/python $0" >&2
exit 2
