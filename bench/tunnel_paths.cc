#include "tunnel_paths.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <fstream>

#include "base/check.h"
#include "process_usage.h"
#include "support/eventually.h"
#include "support/free_ports.h"

namespace holdfast::bench {
namespace {

using namespace std::chrono_literals;

// What Holdfast's tunnels speak; both pairs would choose a slower one.
constexpr const char* kSuite = "TLS_AES_128_GCM_SHA256";

std::vector<pid_t> with_children(pid_t pid) {
  std::vector<pid_t> all = {pid};
  std::ifstream children(fmt::format("/proc/{0}/task/{0}/children", pid));
  for (pid_t child = 0; children >> child;) {
    for (const pid_t each : with_children(child)) all.push_back(each);
  }
  return all;
}

void run(std::vector<std::string> arguments) {
  const test::ProgramOutcome done = test::run_program({.arguments = std::move(arguments)});
  HF_CHECK(done.exit_code == 0, done.error);
}

}  // namespace

double Path::cpu_seconds() const {
  double sum = 0;
  for (const pid_t pid : processes) {
    for (const pid_t each : with_children(pid)) sum += bench::cpu_seconds(each);
  }
  return sum;
}

double Path::memory_kb() const {
  double sum = 0;
  for (const pid_t pid : processes) {
    for (const pid_t each : with_children(pid)) sum += memory_mib(each) * 1024;
  }
  return sum;
}

AppTls make_certificate(const test::TempDir& folder) {
  const AppTls tls{.certificate_file = folder.file("cert.pem"), .key_file = folder.file("key.pem")};
  run({"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
       "-days", "2", "-subj", "/CN=localhost", "-keyout", tls.key_file, "-out",
       tls.certificate_file});
  return tls;
}

void wait_until_it_carries(const Path& path) {
  const bool in_time = test::eventually([&] { return echoes_once(path.endpoint); }, 30s);
  HF_CHECK(in_time, path.name + " carries a byte within 30 s");
}

Peers::Peers(const TunnelApp& app, const AppTls& tls) : app_port_(app.port()), tls_(tls) {
  add_ssh("ssh -R", {});
  add_ssh("ssh -R aes128-gcm", {"-c", "aes128-gcm@openssh.com"});
  add_nginx();
  add_haproxy();
}

std::string Peers::write(const std::string& name, const std::string& text) const {
  std::ofstream(folder_.file(name)) << text;
  return folder_.file(name);
}

void Peers::add(std::string name, uint16_t port,
                const std::vector<std::vector<std::string>>& commands) {
  Path path{.name = std::move(name), .endpoint = {.port = port}};
  for (const std::vector<std::string>& command : commands) {
    processes_.push_back(std::make_unique<test::ChildProcess>(
        test::ChildOptions{.arguments = command, .output_file = folder_.file(path.name + ".log")}));
    path.processes.push_back(processes_.back()->pid());
    // The second one dials the first.
    test::let_pass(300ms);
  }
  wait_until_it_carries(path);
  paths_.push_back(std::move(path));
}

void Peers::add_ssh(const std::string& name, const std::vector<std::string>& options) {
  const std::vector<uint16_t> ports = test::free_ports(2);
  const std::string key = folder_.file(fmt::format("key-{}", ports[0]));
  run({"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key});
  ::mkdir("/run/sshd", 0755);  // where sshd locks its unprivileged half up; made at boot elsewhere
  const std::string config =
      write(fmt::format("sshd-{}", ports[0]),
            fmt::format("ListenAddress 127.0.0.1:{}\nHostKey {}\nAuthorizedKeysFile {}.pub\n"
                        "StrictModes no\nUsePAM no\nPermitRootLogin yes\nPidFile none\n"
                        "AllowTcpForwarding yes\nLogLevel ERROR\n",
                        ports[0], key, key));
  std::vector<std::string> client = {"ssh", "-N", "-F", "none",
                                     "-i",  key,  "-p", std::to_string(ports[0])};
  for (const char* option : {"StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null",
                             "ExitOnForwardFailure=yes", "LogLevel=ERROR"}) {
    client.insert(client.end(), {"-o", option});
  }
  client.insert(client.end(), options.begin(), options.end());
  client.insert(client.end(),
                {"-R", fmt::format("127.0.0.1:{}:127.0.0.1:{}", ports[1], app_port_), "127.0.0.1"});
  add(name, ports[1], {{"/usr/sbin/sshd", "-D", "-e", "-f", config}, client});
}

void Peers::add_nginx() {
  const std::vector<uint16_t> ports = test::free_ports(2);
  const auto config = [&](const std::string& name, const std::string& server) {
    return write(
        name, fmt::format("load_module /usr/lib/nginx/modules/ngx_stream_module.so;\nuser root;\n"
                          "daemon off;\nworker_processes 1;\nmaster_process off;\npid "
                          "{0}.pid;\nerror_log {0}.err;\n"
                          "events {{ worker_connections 8192; }}\nstream {{\n"
                          "  tcp_nodelay on;\n  server {{ {1} }}\n}}\n",
                          folder_.file(name), server));
  };
  const std::string near =
      config("nginx-near", fmt::format("listen 127.0.0.1:{}; proxy_pass 127.0.0.1:{}; "
                                       "proxy_ssl on; proxy_ssl_protocols TLSv1.3; "
                                       "proxy_ssl_conf_command Ciphersuites {};",
                                       ports[0], ports[1], kSuite));
  const std::string far = config(
      "nginx-far", fmt::format("listen 127.0.0.1:{} ssl; ssl_protocols TLSv1.3; "
                               "ssl_conf_command Ciphersuites {}; ssl_certificate {}; "
                               "ssl_certificate_key {}; proxy_pass 127.0.0.1:{};",
                               ports[1], kSuite, tls_.certificate_file, tls_.key_file, app_port_));
  const std::string prefix = folder_.path().string();
  add("nginx pair", ports[0],
      {{"/usr/sbin/nginx", "-p", prefix, "-c", far},
       {"/usr/sbin/nginx", "-p", prefix, "-c", near}});
}

void Peers::add_haproxy() {
  const std::vector<uint16_t> ports = test::free_ports(2);
  std::string both;
  for (const std::string& file : {tls_.certificate_file, tls_.key_file}) {
    std::ifstream part(file);
    both.append(std::istreambuf_iterator<char>(part), {});
  }
  const std::string pem = write("haproxy.pem", both);
  const auto config = [&](const std::string& name, const std::string& bind,
                          const std::string& server) {
    return write(name, fmt::format("global\n  nbthread 1\n  maxconn 8000\ndefaults\n  mode tcp\n"
                                   "  timeout connect 5s\n  timeout client 1h\n"
                                   "  timeout server 1h\nlisten one\n  bind {}\n  server app {}\n",
                                   bind, server));
  };
  const std::string near =
      config("haproxy-near", fmt::format("127.0.0.1:{}", ports[0]),
             fmt::format("127.0.0.1:{} ssl verify none ssl-min-ver TLSv1.3 ciphersuites {}",
                         ports[1], kSuite));
  const std::string far =
      config("haproxy-far",
             fmt::format("127.0.0.1:{} ssl crt {} ssl-min-ver TLSv1.3 ciphersuites {}", ports[1],
                         pem, kSuite),
             fmt::format("127.0.0.1:{}", app_port_));
  add("haproxy pair", ports[0], {{"haproxy", "-db", "-f", far}, {"haproxy", "-db", "-f", near}});
}

}  // namespace holdfast::bench
