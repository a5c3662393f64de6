#include "app/log_config.h"

#include <unistd.h>

#include "base/check.h"
#include "base/log.h"

namespace holdfast::app {

void configure_log(const config::LogConfig& config) {
  log::Level level = log::Level::Info;
  HF_CHECK(log::parse_level(config.level, level), "the configuration was validated");
  const bool people = config.format == config::LogFormat::Logfmt ||
                      (config.format == config::LogFormat::Auto && isatty(STDERR_FILENO) != 0);
  log::configure(level, people ? log::Format::Logfmt : log::Format::Json);
}

}  // namespace holdfast::app
