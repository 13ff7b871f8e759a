"""toolsearch-server: tool search for AI agents as a service. ARCHITECTURE.md is the way in."""

import os

# Products of matrices are small here, and OpenBLAS's threads would wait for the next one by turning in circles. It reads this
# once, when NumPy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
