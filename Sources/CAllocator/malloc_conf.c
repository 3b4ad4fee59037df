#include "CAllocator.h"

const char *malloc_conf = "narenas_ratio:0.5,lg_tcache_max:13,dirty_decay_ms:1000";
