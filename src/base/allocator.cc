#include "base/allocator.h"

#include <malloc.h>

namespace holdfast {

void free_memory_evenly() {
  mallopt(M_MXFAST, 0);
}

}  // namespace holdfast
