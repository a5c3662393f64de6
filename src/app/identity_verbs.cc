// The verbs about who is who: init, token, join, login, logout, user, rotate, whoami.
#include "app/command_line.h"
#include "app/paths.h"

namespace holdfast::app {
namespace {

using cli::Exit;
using Step = cli::RotateOptions::Step;

// Where a cluster is that is not known yet, and how to recognise it.
void add_introduction(CLI::App& command, cli::Introduction& introduction) {
  command
      .add_option("SERVER", introduction.server,
                  "controller, as HOST:PORT; the halves of a pair as A,B")
      ->required();
  command.add_option("--pin", introduction.recognition.pins,
                     "sha256:... as `holdfast init` prints it; repeat it for several");
  command.add_option("--ca", introduction.recognition.ca_file,
                     "file with the cluster's certificates, instead of a pin");
}

void add_init(CLI::App& app, CommandLine& line) {
  CLI::App* init = app.add_subcommand(
      "init", "make the cluster's authority, on the controller's machine\n  holdfast init");
  init->add_option("--cluster", line.init.cluster, "its name (default: holdfast)");
  add_output(*init, line.init.output);
  line.on_session(init,
                  [&line](const cli::Session& session) { return cli::init(session, line.init); });
}

void add_token(CLI::App& app, CommandLine& line) {
  CLI::App* token = app.add_subcommand("token", "what nodes join with");
  token->require_subcommand(1);
  CLI::App* create =
      token->add_subcommand("create", "make one\n  holdfast token create --role agent --out token");
  create->add_option("--role", line.token.role, "controller, proxy, agent or witness")->required();
  create->add_option("--zone", line.token.zone, "only into this zone");
  create->add_option("--name", line.token.node_name, "only under this name");
  add_duration(*create, "--ttl", line.token.ttl, "how long it may be used (default: 30m)");
  create->add_option("--uses", line.token.uses, "how often (default: once)")
      ->check(CLI::Range(1U, 100'000U));
  create->add_option("--out", line.token.out, "file to write it to, for the owner only");
  line.on_session(create, [&line](const cli::Session& session) {
    return cli::create_token(session, line.token);
  });
  CLI::App* list = token->add_subcommand("list", "show them, without their secrets");
  add_output(*list, line.tokens.output);
  line.on_session(list,
                  [&line](const cli::Session& session) { return cli::get(session, line.tokens); });
  CLI::App* revoke = token->add_subcommand("revoke", "make them useless");
  revoke->add_option("NAME", line.revoke.names, "as `token list` shows it")->required();
  line.on_session(
      revoke, [&line](const cli::Session& session) { return cli::remove(session, line.revoke); });
}

void add_join(CLI::App& app, CommandLine& line) {
  line.join.data_dir = default_data_dir();
  CLI::App* join =
      app.add_subcommand("join",
                         "make this machine a node of a cluster\n"
                         "  holdfast join ctl-1.example:7443 --pin sha256:... --token-file token "
                         "--name edge-07");
  add_introduction(*join, line.join.introduction);
  join->add_option("--token-file", line.join.token_file,
                   "file with the token, - for standard input; or HOLDFAST_TOKEN");
  join->add_option("--name", line.join.name, "the node's name, unless the token says it");
  join->add_option("--zone", line.join.zone, "its zone, unless the token says it");
  join->add_option("--host", line.join.hosts, "name or address others reach it by; may repeat");
  join->add_option("--data-dir", line.join.data_dir, "the node's data folder")
      ->envname("HOLDFAST_DATA_DIR")
      ->capture_default_str();
  join->add_flag("--replace", line.join.replace, "throw away the identity that is there");
  line.on(join, [&line](const cli::Console& console) {
    line.join.introduction.timeout = line.connection.timeout;
    return cli::join(console, line.join);
  });
}

void add_login(CLI::App& app, CommandLine& line) {
  CLI::App* login =
      app.add_subcommand("login",
                         "get a certificate for a password\n"
                         "  holdfast login --user ann ctl-1.example:7443 --pin sha256:...");
  add_introduction(*login, line.login.introduction);
  login->add_option("--user", line.login.user, "who you are");
  login->add_option("--password-file", line.login.password_file,
                    "file with the password, - for standard input; or HOLDFAST_PASSWORD");
  login->add_option("--identity", line.login.identity_file,
                    "instead of a password: the file that `user cert` wrote");
  add_duration(*login, "--ttl", line.login.ttl, "how long to stay logged in (default: 12h)");
  line.on(login, [&line](const cli::Console& console) {
    line.login.introduction.timeout = line.connection.timeout;
    line.login.profile_dir = line.connection.profile_dir;
    return cli::login(console, line.login);
  });
  CLI::App* logout = app.add_subcommand("logout", "remove the profile");
  line.on(logout, [&line](const cli::Console& console) {
    return cli::logout(console, line.connection.profile_dir);
  });
}

void add_user(CLI::App& app, CommandLine& line) {
  CLI::App* user = app.add_subcommand("user", "people who may log in");
  user->require_subcommand(1);
  CLI::App* create =
      user->add_subcommand("create", "make one\n  holdfast user create ann --role operator");
  create->add_option("NAME", line.user.name, "who")->required();
  create->add_option("--role", line.user.roles, "viewer, operator, admin or one of yours")
      ->required();
  create->add_option("--password-file", line.user.password_file, "or HOLDFAST_PASSWORD");
  line.on_session(create, [&line](const cli::Session& session) {
    return cli::create_user(session, line.user);
  });
  CLI::App* password = user->add_subcommand("password", "set one; asks for it on a terminal");
  password->add_option("NAME", line.user.name, "whose")->required();
  password->add_option("--password-file", line.user.password_file,
                       "the new one, - for standard input; or HOLDFAST_PASSWORD");
  password->add_option("--old-password-file", line.user.old_password_file,
                       "for your own; or HOLDFAST_OLD_PASSWORD");
  line.on_session(password, [&line](const cli::Session& session) {
    return cli::set_password(session, line.user);
  });
  CLI::App* certificate = user->add_subcommand(
      "cert", "a certificate without a password\n  holdfast user cert ann --ttl 8h --out ann.pem");
  certificate->add_option("NAME", line.user.name, "whose")->required();
  add_duration(*certificate, "--ttl", line.user.ttl, "how long it is valid (default: 8h)");
  certificate->add_option("--out", line.user.out, "file for the key and the certificate")
      ->required();
  line.on_session(certificate, [&line](const cli::Session& session) {
    return cli::issue_user(session, line.user);
  });
}

void add_rotate(CLI::App& app, CommandLine& line) {
  CLI::App* rotate = app.add_subcommand("rotate", "replace the authority's key, step by step");
  rotate->require_subcommand(1);
  const auto add = [&](const char* name, const char* help, Step step) {
    CLI::App* command = rotate->add_subcommand(name, help);
    add_output(*command, line.rotate.output);
    if (step != Step::Status) {
      command->add_flag("--dry-run", line.rotate.dry_run, "say what would happen, change nothing");
    }
    if (step == Step::Next) {
      command->add_flag("--cut-off-laggards", line.rotate.cut_off_laggards,
                        "go on although some nodes would have to join again");
    }
    line.on_session(command, [&line, step](const cli::Session& session) {
      line.rotate.step = step;
      return cli::rotate(session, line.rotate);
    });
  };
  add("status", "where it stands, and who has not followed", Step::Status);
  add("start", "make a new key, trusted but not signing yet", Step::Start);
  add("next", "one step on", Step::Next);
  add("rollback", "back to the old key alone", Step::Rollback);
}

}  // namespace

void add_identity_verbs(CLI::App& app, CommandLine& line) {
  add_init(app, line);
  add_token(app, line);
  add_join(app, line);
  add_login(app, line);
  add_user(app, line);
  add_rotate(app, line);
  CLI::App* whoami = app.add_subcommand("whoami", "who the controller takes you for");
  add_output(*whoami, line.whoami.output);
  line.on_session(
      whoami, [&line](const cli::Session& session) { return cli::whoami(session, line.whoami); });
}

}  // namespace holdfast::app
