#include "app/self_description.h"

#include <CLI/CLI.hpp>
#include <string_view>
#include <vector>

#include "app/command_tree.h"
#include "cli/completion.h"
#include "cli/man_page.h"
#include "cli/output.h"
#include "resource/registry.h"

namespace holdfast::app {
namespace {

std::vector<std::string> kinds() {
  std::vector<std::string> out;
  for (const resource::KindInfo& kind : resource::all_kinds()) {
    out.emplace_back(kind.name);
    out.emplace_back(kind.plural);
  }
  return out;
}

std::string page(const CLI::App& app, const Program& program, bool of_configuration) {
  if (of_configuration) return cli::config_page(program.version);
  const char* others = program.name == "holdfastd" ? "holdfast(1), holdfast.yaml(5)"
                                                   : "holdfastd(8), holdfast.yaml(5)";
  return cli::command_page(
      command_tree(app, program.name),
      {.section = program.section, .version = program.version, .see_also = others});
}

}  // namespace

std::optional<int> describe_itself(const CLI::App& app, const Program& program,
                                   std::span<char* const> arguments) {
  if (arguments.empty()) return std::nullopt;
  const std::string_view first = arguments.front();
  if (first == "complete") {
    const std::vector<std::string> words(arguments.begin() + 1, arguments.end());
    const cli::CommandTree tree = command_tree(app, program.name);
    cli::print_out(cli::to_text(cli::complete(tree, words, kinds())));
  } else if (first == "man-page") {
    const bool of_configuration = arguments.size() > 1 && arguments[1] == std::string_view("yaml");
    cli::print_out(page(app, program, of_configuration));
  } else {
    return std::nullopt;
  }
  return static_cast<int>(cli::with_output_written(cli::Exit::Ok));
}

}  // namespace holdfast::app
