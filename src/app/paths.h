// Where a daemon keeps its files and where a client finds it, when nobody says.
#pragma once

#include <string>

namespace holdfast::app {

// Root: /var/lib/holdfast. Others: $XDG_STATE_HOME/holdfast, or ~/.local/state/holdfast. Empty if
// neither is known: a guess would be a folder that others can write.
std::string default_data_dir();
// The unix socket of a controller on this machine.
std::string default_server();

}  // namespace holdfast::app
