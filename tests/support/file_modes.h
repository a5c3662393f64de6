// Tests of files that may not be written, also where they run as root.
#pragma once

namespace holdfast::test {

// This process can do no more than file modes let their owner. There is no way back: for a child,
// as of EXPECT_EXIT.
void obey_file_modes();

}  // namespace holdfast::test
