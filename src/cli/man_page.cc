#include "cli/man_page.h"

#include <fmt/format.h>

#include <cctype>
#include <ranges>

#include "config/keys.h"

namespace holdfast::cli {
namespace {

std::string upper(std::string_view text) {
  std::string out;
  for (const char c : text) out += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return out;
}

std::string heading(std::string_view name, int section, std::string_view version) {
  return fmt::format(".TH {} {} \"\" \"holdfast {}\" \"Holdfast\"\n.nh\n.ad l\n", upper(name),
                     section, roff_text(version));
}

// Lines as they are, as in an example.
std::string verbatim(std::string_view text) {
  return fmt::format(".nf\n{}\n.fi\n", roff_text(text));
}

std::string first_line(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

// "tool shows things." is "shows things" after "tool -".
std::string without_name(std::string text, std::string_view name) {
  if (text.starts_with(fmt::format("{} ", name))) text.erase(0, name.size() + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

std::string option_head(const CommandOption& option) {
  std::string out;
  for (const std::string& name : option.names) {
    out += fmt::format("{}\\fB{}\\fR", out.empty() ? "" : ", ", roff_text(name));
  }
  const bool named = !option.names.empty();
  if (!option.value.empty()) {
    out += fmt::format("{}\\fI{}\\fR", named ? " " : "", roff_text(option.value));
  }
  return option.repeats ? out + " ..." : out;
}

std::string option_text(const CommandOption& option) {
  std::string out = fmt::format(".TP\n{}\n{}\n", option_head(option), roff_text(option.help));
  if (!option.environment.empty()) {
    out += fmt::format(".br\nAlso from \\fB{}\\fR.\n", roff_text(option.environment));
  }
  return out;
}

std::string synopsis(const CommandTree& command, std::string_view path) {
  std::string out = fmt::format("\\fB{}\\fR", roff_text(path));
  if (!command.options.empty()) out += " [\\fIoptions\\fR]";
  for (const CommandOption& argument : command.arguments) out += " " + option_head(argument);
  if (!command.subcommands.empty()) out += " \\fIcommand\\fR";
  return out;
}

// The command, then those below it; commands that only hold others are not shown.
std::string command_text(const CommandTree& command, const std::string& path) {
  std::string out;
  if (command.subcommands.empty()) {
    out += fmt::format(".SS {}\n{}\n.PP\n{}\n", roff_text(path), synopsis(command, path),
                       roff_text(command.summary));
    if (!command.details.empty()) out += ".PP\n" + verbatim(command.details);
    for (const CommandOption& argument : command.arguments) out += option_text(argument);
    for (const CommandOption& option : command.options) out += option_text(option);
  }
  for (const CommandTree& sub : command.subcommands) {
    out += command_text(sub, path + " " + sub.name);
  }
  return out;
}

// Where a long word without spaces may go on in a new line.
std::string breakable(std::string_view text) {
  std::string out;
  for (const char c : roff_text(text)) {
    out += c;
    if (c == ',' || c == '{') out += "\\:";
  }
  return out;
}

std::string key_text(const config::Key& key) {
  const std::string range = config::range_text(key);
  const std::string variable = config::environment_name(key);
  std::string out = fmt::format(".TP\n\\fB{}\\fR ({}{}{})\n{}\n", roff_text(key.path),
                                roff_text(config::type_text(key.type)), range.empty() ? "" : ": ",
                                roff_text(range), roff_text(key.doc));
  out += fmt::format("Default: {}.\n", breakable(config::default_text(key)));
  if (!variable.empty()) out += fmt::format("Variable: {}.\n", roff_text(variable));
  out += key.needs_restart ? "A change needs a restart.\n" : "A change counts after a reload.\n";
  return out;
}

}  // namespace

std::string roff_text(std::string_view text) {
  std::string out;
  bool at_start = true;
  for (const char c : text) {
    // A line that begins with one of these would be an instruction.
    if (at_start && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
    at_start = c == '\n';
  }
  return out;
}

std::string command_page(const CommandTree& tree, const ManPage& page) {
  std::string out = heading(tree.name, page.section, page.version);
  out += fmt::format(".SH NAME\n{} \\- {}\n", roff_text(tree.name),
                     roff_text(without_name(first_line(tree.summary), tree.name)));
  out += fmt::format(".SH SYNOPSIS\n{}\n", synopsis(tree, tree.name));
  if (!tree.options.empty()) out += ".SH OPTIONS\n";
  for (const CommandOption& option : tree.options) out += option_text(option);
  out += ".SH COMMANDS\n";
  for (const CommandTree& sub : tree.subcommands) {
    out += command_text(sub, tree.name + " " + sub.name);
  }
  if (!tree.details.empty()) out += ".SH NOTES\n" + verbatim(tree.details);
  if (!page.see_also.empty()) out += fmt::format(".SH SEE ALSO\n{}\n", roff_text(page.see_also));
  return out;
}

std::string config_page(std::string_view version) {
  std::string out = heading("holdfast.yaml", 5, version);
  out += ".SH NAME\nholdfast.yaml \\- configuration of holdfastd\n";
  out += ".SH SYNOPSIS\n/etc/holdfast/holdfast.yaml\n";
  out +=
      ".SH DESCRIPTION\nOne YAML mapping. Below, a key of a section is written with a dot: "
      "\\fBlog.level\\fR is \\fBlevel\\fR in the mapping \\fBlog\\fR.\n.PP\n"
      "A flag of \\fBholdfastd\\fR(8) wins over a variable of the environment, that over the "
      "file, that over the default. A variable is the key in upper case with _ for each dot "
      "and HOLDFAST_ before it; lists have commas between. An unknown key or a bad value is an "
      "error: \\fBholdfast config validate\\fR shows all of them with line and column.\n.PP\n"
      "Durations are written as 250ms, 30s, 1h30m or 2d, sizes as bytes or as 64KiB, 4MiB or "
      "1GiB.\n.SH KEYS\n";
  for (const config::Key& key : config::keys()) out += key_text(key);
  out += ".SH SEE ALSO\nholdfast(1), holdfastd(8)\n";
  return out;
}

}  // namespace holdfast::cli
