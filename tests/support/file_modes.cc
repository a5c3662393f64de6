#include "support/file_modes.h"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>

#include "base/check.h"

namespace holdfast::test {

void obey_file_modes() {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> none{};
  HF_CHECK(::syscall(SYS_capset, &header, none.data()) == 0, "capabilities can be given up");
}

}  // namespace holdfast::test
