// The verbs about who is who: the cluster's authority, tokens, nodes that join, users who log in.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/first_contact.h"
#include "cli/session.h"

namespace holdfast::cli {

struct InitOptions {
  std::string cluster{};  // empty: "holdfast", or whatever there is
  Output output = Output::Table;
};
// Makes the cluster's authority, or shows the one there is.
Exit init(const Session& session, const InitOptions& options);

struct TokenOptions {
  std::string role{};
  std::string zone{};
  std::string node_name{};
  Duration ttl = std::chrono::minutes(30);
  uint32_t uses = 1;
  std::string out{};  // file to write; empty: standard output
};
Exit create_token(const Session& session, const TokenOptions& options);

struct RotateOptions {
  enum class Step { Status, Start, Next, Rollback };
  Step step = Step::Status;
  bool dry_run = false;
  bool cut_off_laggards = false;
  Output output = Output::Table;
};
Exit rotate(const Session& session, const RotateOptions& options);

struct WhoAmIOptions {
  Output output = Output::Table;
};
Exit whoami(const Session& session, const WhoAmIOptions& options);

struct UserOptions {
  std::string name{};
  std::vector<std::string> roles{};
  std::string password_file{};
  std::string old_password_file{};
  Duration ttl = std::chrono::hours(8);
  std::string out{};
};
Exit create_user(const Session& session, const UserOptions& options);
Exit set_password(const Session& session, const UserOptions& options);
// A certificate and its key for a user, made by an admin, into a file.
Exit issue_user(const Session& session, const UserOptions& options);

// What the two verbs share that speak to a cluster they do not know yet.
struct Introduction {
  std::string server{};  // as parse_addresses() reads it
  Recognition recognition{};
  Duration timeout = std::chrono::seconds(10);
};

struct JoinOptions {
  Introduction introduction{};
  std::string token_file{};
  std::string name{};
  std::string zone{};
  std::vector<std::string> hosts{};
  std::string data_dir{};
  bool replace = false;  // an identity that is there
};
// A node's first certificate, into "identity" in its data folder.
Exit join(const Console& console, const JoinOptions& options);

struct LoginOptions {
  Introduction introduction{};
  std::string user{};
  std::string password_file{};
  std::string identity_file{};  // instead of a password: what `user cert` wrote
  Duration ttl{0};              // zero: as long as the controller gives
  std::string profile_dir{};
};
Exit login(const Console& console, const LoginOptions& options);
Exit logout(const Console& console, const std::string& profile_dir);

}  // namespace holdfast::cli
