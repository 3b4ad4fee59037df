#pragma once

/// jemalloc's settings, which it reads when the program starts.
///
/// * `narenas_ratio`: one arena for two processors, instead of four for each. A worker frees in some threads what it has
///   allocated in others, and each arena keeps pages that it could use again.
/// * `lg_tcache_max`: a thread keeps blocks of at most 8 KiB for its next allocations, instead of 32 KiB.
/// * `dirty_decay_ms`: pages that nothing has used for a second go back to the system, instead of ten seconds.
extern const char *malloc_conf;
