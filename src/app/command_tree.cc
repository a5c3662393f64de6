#include "app/command_tree.h"

#include <CLI/CLI.hpp>

namespace holdfast::app {
namespace {

// The words of a choice, which the parser shows as "TEXT:{a,b}" or "ENUM:value in {a->0,b->1} OR
// …".
std::vector<std::string> choices_in(const std::string& type) {
  std::vector<std::string> out;
  const size_t begin = type.find('{');
  const size_t end = type.find('}', begin);
  if (begin == std::string::npos || end == std::string::npos) return out;
  std::string rest = type.substr(begin + 1, end - begin - 1);
  while (!rest.empty()) {
    const size_t comma = std::min(rest.find(','), rest.size());
    const std::string word = rest.substr(0, comma);
    out.push_back(word.substr(0, word.find("->")));
    rest.erase(0, comma + 1);
  }
  return out;
}

// "--data-dir" takes a DATA-DIR, unless the parser has a word of its own for it.
std::string value_name(const CLI::Option& option) {
  if (option.get_items_expected_max() == 0) return "";
  const std::string type = option.get_type_name();
  const std::string word = type.substr(0, type.find(':'));
  const bool generic = word.empty() || word == "TEXT" || word == "ENUM" || word == "UINT" ||
                       word == "INT" || word == "FLOAT";
  if (!generic) return word;
  std::string name = option.get_lnames().empty() ? "value" : option.get_lnames().front();
  for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

cli::CommandOption describe(const CLI::Option& option) {
  cli::CommandOption out;
  for (const std::string& name : option.get_snames()) out.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) out.names.push_back("--" + name);
  const bool positional = out.names.empty();
  out.value = positional ? option.get_name(true) : value_name(option);
  out.help = option.get_description();
  out.choices = choices_in(option.get_type_name());
  out.environment = option.get_envname();
  out.repeats = positional && option.get_items_expected_max() > 1;
  return out;
}

}  // namespace

cli::CommandTree command_tree(const CLI::App& app, const std::string& name) {
  cli::CommandTree out;
  out.name = name;
  const std::string description = app.get_description();
  out.summary = description.substr(0, description.find('\n'));
  if (out.summary.size() < description.size()) {
    out.details = description.substr(out.summary.size() + 1);
  }
  // A command gets its parent's footer if it has none of its own.
  const std::string footer = app.get_footer();
  const bool inherited = app.get_parent() != nullptr && app.get_parent()->get_footer() == footer;
  if (!footer.empty() && !inherited) out.details += (out.details.empty() ? "" : "\n") + footer;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    cli::CommandOption described = describe(*option);
    (described.names.empty() ? out.arguments : out.options).push_back(std::move(described));
  }
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!sub->get_group().empty()) out.subcommands.push_back(command_tree(*sub, sub->get_name()));
  }
  return out;
}

}  // namespace holdfast::app
