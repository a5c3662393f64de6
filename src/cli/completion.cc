#include "cli/completion.h"

#include <fmt/format.h>

#include <algorithm>

namespace holdfast::cli {
namespace {

using Words = std::span<const std::string>;

// Where a line of words has led: the command, its parents, and what it has been given.
struct Place {
  std::vector<const CommandTree*> path;    // from the program to the command
  const CommandOption* waiting = nullptr;  // an option whose value comes next
  std::vector<std::string> arguments;
  bool only_arguments = false;  // after "--"

  const CommandTree& command() const { return *path.back(); }
};

// Options of a command's parents are known to it too.
const CommandOption* option_named(const Place& place, const std::string& name) {
  for (const CommandTree* command : place.path) {
    if (const CommandOption* found = find_option(*command, name)) return found;
  }
  return nullptr;
}

void take(Place& place, const std::string& word) {
  if (place.waiting != nullptr) {
    place.waiting = nullptr;
  } else if (word == "--" && !place.only_arguments) {
    place.only_arguments = true;
  } else if (word.starts_with('-') && word.size() > 1 && !place.only_arguments) {
    const CommandOption* option = option_named(place, word);
    if (option != nullptr && !option->value.empty()) place.waiting = option;
  } else if (const CommandTree* sub = find_subcommand(place.command(), word);
             sub != nullptr && place.arguments.empty()) {
    place.path.push_back(sub);
  } else {
    place.arguments.push_back(word);
  }
}

void offer(Candidates& out, const std::string& typed, const std::string& word,
           const std::string& help) {
  if (!word.starts_with(typed)) return;
  const bool known = std::ranges::any_of(out.words, [&](const auto& w) { return w.text == word; });
  if (!known) out.words.push_back({word, help.substr(0, help.find('\n'))});
}

void offer_value(Candidates& out, const std::string& typed, const CommandOption& option) {
  for (const std::string& choice : option.choices) offer(out, typed, choice, "");
  const bool is_path = option.value.contains("FILE") || option.value.contains("DIR") ||
                       option.value.contains("PATH") || option.help.contains("file");
  if (option.choices.empty() && is_path) out.files = true;
}

void offer_options(Candidates& out, const std::string& typed, const Place& place) {
  for (const CommandTree* command : place.path) {
    for (const CommandOption& option : command->options) {
      for (const std::string& name : option.names) offer(out, typed, name, option.help);
    }
  }
}

// "KIND", or "KIND/NAME" typed in one word; then names of that kind.
void offer_argument(Candidates& out, const std::string& typed, const Place& place, Words kinds) {
  const std::vector<CommandOption>& arguments = place.command().arguments;
  if (arguments.empty()) return;
  const size_t at = std::min(place.arguments.size(), arguments.size() - 1);
  const CommandOption& argument = arguments[at];
  if (place.arguments.size() >= arguments.size() && !argument.repeats) return;
  if (!argument.value.starts_with("KIND") && argument.value != "NAME") {
    return offer_value(out, typed, argument);
  }
  const size_t slash = typed.find('/');
  if (argument.value == "NAME") {
    if (place.arguments.empty() || place.arguments.front().contains('/')) return;
    out.names_of = place.arguments.front();
  } else if (slash != std::string::npos) {
    out.names_of = typed.substr(0, slash);
    out.name_prefix = typed.substr(0, slash + 1);
  } else {
    for (const std::string& kind : kinds) offer(out, typed, kind, "");
    // Not a kind: nothing else takes it.
    if (place.command().name == "get") offer(out, typed, "caches", "");
  }
  // It becomes an argument of a command: nothing but what a kind can be.
  const bool is_word = std::ranges::all_of(out.names_of, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-';
  });
  if (!is_word || out.names_of.starts_with('-')) out.names_of.clear();
}

constexpr std::string_view kBash = R"sh(# bash completion for holdfast
_holdfast() {
  local line kind prefix name word i after_colon=
  local -a words=()
  # bash takes "unix:/x" for three words and "--output=json" too.
  for ((i = 1; i <= COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if [[ $word == = ]]; then
      ((i < COMP_CWORD)) || words+=('')
    elif [[ $after_colon || $word == : ]] && ((${#words[@]})); then
      words[-1]+=$word
    else
      words+=("$word")
    fi
    after_colon=${word##*[!:]}
  done
  COMPREPLY=()
  while IFS= read -r line; do
    case $line in
      :files) compopt -o filenames 2>/dev/null
        while IFS= read -r name; do COMPREPLY+=("$name"); done \
          < <(compgen -f -- "${COMP_WORDS[COMP_CWORD]}") ;;
      :names\ *) read -r _ kind prefix <<<"$line"
        while IFS= read -r name; do
          name=$prefix${name#*/}
          [[ $name == "${COMP_WORDS[COMP_CWORD]}"* ]] && COMPREPLY+=("$name")
        done < <(timeout 2 "${COMP_WORDS[0]}" --timeout 1 get "$kind" -o name 2>/dev/null) ;;
      *) COMPREPLY+=("${line%%$'\t'*}") ;;
    esac
  done < <("${COMP_WORDS[0]}" complete "${words[@]}" 2>/dev/null)
}
complete -F _holdfast holdfast
)sh";

// clang-format off: it takes the quotes within for the end of the text.
constexpr std::string_view kZsh = R"sh(#compdef holdfast
# zsh completion for holdfast
_holdfast() {
  local line kind prefix name
  local -a found
  while IFS= read -r line; do
    case $line in
      :files) _files ;;
      :names\ *) kind=${${(s: :)line}[2]} prefix=${${(s: :)line}[3]}
        for name in ${(f)"$(timeout 2 ${words[1]} --timeout 1 get $kind -o name 2>/dev/null)"}; do
          compadd -- "$prefix${name#*/}"
        done ;;
      *) found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}") ;;
    esac
  done < <(${words[1]} complete "${(@)words[2,CURRENT]}" 2>/dev/null)
  (( ${#found} )) && _describe holdfast found
}
if [[ ${funcstack[1]} == _holdfast ]]; then _holdfast "$@"; else compdef _holdfast holdfast; fi
)sh";
// clang-format on

constexpr std::string_view kFish = R"sh(# fish completion for holdfast
function __holdfast_complete
    set -l typed (commandline -opc) (commandline -ct)
    set -l program $typed[1]
    for line in (command $program complete $typed[2..-1] 2>/dev/null)
        switch $line
            case ':files'
                __fish_complete_path (commandline -ct)
            case ':names *'
                set -l parts (string split ' ' -- $line)
                for name in (timeout 2 $program --timeout 1 get $parts[2] -o name 2>/dev/null)
                    echo "$parts[3]"(string replace -r '^[^/]*/' '' -- $name)
                end
            case '*'
                echo $line
        end
    end
end
complete -c holdfast -f -a '(__holdfast_complete)'
)sh";

}  // namespace

const CommandTree* find_subcommand(const CommandTree& tree, const std::string& name) {
  const auto found = std::ranges::find(tree.subcommands, name, &CommandTree::name);
  return found == tree.subcommands.end() ? nullptr : &*found;
}

const CommandOption* find_option(const CommandTree& tree, const std::string& name) {
  for (const CommandOption& option : tree.options) {
    if (std::ranges::find(option.names, name) != option.names.end()) return &option;
  }
  return nullptr;
}

Candidates complete(const CommandTree& tree, Words words, Words kinds) {
  Place place;
  place.path = {&tree};
  for (size_t i = 0; i + 1 < words.size(); ++i) take(place, words[i]);
  const std::string typed = words.empty() ? "" : words.back();
  Candidates out;
  if (place.waiting != nullptr) {
    offer_value(out, typed, *place.waiting);
    return out;
  }
  if (place.arguments.empty()) {
    for (const CommandTree& sub : place.command().subcommands) {
      offer(out, typed, sub.name, sub.summary);
    }
  }
  const bool option = typed.starts_with('-') && !place.only_arguments;
  if (option) offer_options(out, typed, place);
  if (!option) offer_argument(out, typed, place, kinds);
  return out;
}

std::string to_text(const Candidates& candidates) {
  std::string out;
  for (const Candidates::Word& word : candidates.words) {
    out += fmt::format("{}\t{}\n", word.text, word.help);
  }
  if (candidates.files) out += ":files\n";
  if (!candidates.names_of.empty()) {
    out += fmt::format(":names {} {}\n", candidates.names_of, candidates.name_prefix);
  }
  return out;
}

std::string completion_script(std::string_view shell) {
  if (shell == "bash") return std::string(kBash);
  if (shell == "zsh") return std::string(kZsh);
  if (shell == "fish") return std::string(kFish);
  return "";
}

}  // namespace holdfast::cli
