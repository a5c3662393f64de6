#include "cli/output.h"

#include <cstdio>

namespace holdfast::cli {

void print_out(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
}

void print_err(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
}

bool flush_output() {
  return std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
}

Exit with_output_written(Exit exit) {
  if (flush_output()) return exit;
  return report({Exit::Failed, "HF1004", "standard output cannot be written",
                 "what was done is done; make room where the output goes, then look again"});
}

}  // namespace holdfast::cli
