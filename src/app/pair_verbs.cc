// The verbs on a pair of controllers: ha status, switchover, promote, divergence.
#include "app/command_line.h"

namespace holdfast::app {
namespace {

using cli::DivergenceOptions;
using cli::Exit;
using cli::Session;

void add_promote(CLI::App& ha, CommandLine& line) {
  CLI::App* promote = ha.add_subcommand(
      "promote",
      "make one half active, alone, because the other is gone\n"
      "  holdfast --server 10.0.0.2:7443 ha promote\n"
      "  holdfast --server 10.0.0.2:7443 ha promote --force\n"
      "Name the half with --server, or ask it by its own socket. Without --force it says what may\n"
      "be lost and does nothing. In mode sync it is the only way on when a half has died; in mode\n"
      "witness a half takes over by itself, unless the witness is gone too. If the other half is\n"
      "there, use switchover: that loses nothing.\n"
      "A half that never had a copy, or is not in sync by the witness's record, refuses: bring "
      "the\n"
      "other back. --lose-the-other-half insists, when that one is gone for good.\n"
      "See that the other half is really off. If it lives on unseen, what it acknowledges is lost\n"
      "to clients; nodes refuse it from then on, and `ha divergence` shows what it wrote.");
  promote->add_flag("--force", line.promote.force,
                    "do it, unless this half is known to lack what the other has");
  promote
      ->add_flag("--lose-the-other-half", line.promote.lose_other,
                 "with --force: do it also if this half has nothing")
      ->needs("--force");
  line.on(promote, [&line](const cli::Console& console) {
    line.connection.follow = false;
    return line.with_session(
        console, [&line](const Session& session) { return cli::promote(session, line.promote); });
  });
}

void add_file_verb(CLI::App& divergence, CommandLine& line, const std::string& name,
                   const std::string& help, Exit (*run)(const Session&, const DivergenceOptions&)) {
  CLI::App* verb = divergence.add_subcommand(name, help);
  verb->add_option("FILE", line.divergence.file, "as `ha divergence` lists it")->required();
  if (name == "show") add_output(*verb, line.divergence.output);
  if (name == "replay") {
    verb->add_flag("--overwrite", line.divergence.overwrite, "also what was written since");
  }
  line.on_session(verb,
                  [&line, run](const Session& session) { return run(session, line.divergence); });
}

void add_divergence(CLI::App& ha, CommandLine& line) {
  CLI::App* divergence = ha.add_subcommand(
      "divergence",
      "what a half wrote that the pair does not have\n"
      "  holdfast ha divergence\n  holdfast ha divergence show FILE\n"
      "  holdfast ha divergence replay FILE\n  holdfast ha divergence discard FILE\n"
      "Both halves are asked, each for what is on its own disk; by a socket only the one it is "
      "of.\n"
      "After a forced promotion, in mode best-effort, and, of the last writes that were never\n"
      "acknowledged, after a crash of the active half. The half that lost keeps what it had\n"
      "written in a file; deletes and revocations among it were done again by themselves, grants\n"
      "and all else wait for you.");
  add_output(*divergence, line.divergence.output);
  add_file_verb(*divergence, line, "show", "each change, beside what there is now",
                cli::show_divergence);
  add_file_verb(*divergence, line, "discard",
                "give it up: the file and its whole store are deleted", cli::discard_divergence);
  add_file_verb(*divergence, line, "replay",
                "write its changes again, except where somebody wrote since",
                cli::replay_divergence);
  line.on_session(divergence, [&line](const Session& session) {
    return cli::list_divergences(session, line.divergence);
  });
}

}  // namespace

void add_pair_verbs(CLI::App& app, CommandLine& line) {
  CLI::App* ha = app.add_subcommand("ha", "a pair of controllers: how it is, who is active");
  ha->require_subcommand(1);
  CLI::App* status = ha->add_subcommand(
      "status",
      "both halves, and what would happen if the active one died now\n"
      "  holdfast ha status\n  holdfast ha status -o json\n"
      "Either half answers. Exit status 2: nobody is active, or there is a problem, each with its\n"
      "code: `holdfast explain CODE`.");
  add_output(*status, line.pair.output);
  line.on_session(status,
                  [&line](const Session& session) { return cli::pair_status(session, line.pair); });
  CLI::App* switchover = ha->add_subcommand(
      "switchover",
      "make the passive half active; nothing is lost, no call fails\n  holdfast ha switchover\n"
      "Only while both are in sync. Before you stop or upgrade the active half; see\n"
      "docs/pair-operations.md for the order.");
  line.on_session(switchover, cli::switch_over);
  add_promote(*ha, line);
  add_divergence(*ha, line);
}

}  // namespace holdfast::app
