#include "host/cli/command.hpp"

int main(int argc, char** argv) { return sluice::cli::run_command_line(argc, argv); }
