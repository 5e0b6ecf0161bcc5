// All of the C++ layer, for a file that holds sinks and processors. Such a file ends with
//   SLUICE_MODULE(sluice::sink<MySink>("my-sink", "1.0.0"),
//                 sluice::processor<MyFilter>("my-filter", "1.0.0"))
// With one plugin in the file, include sink.hpp or processor.hpp: the shorter way. There is nothing
// of its own in here.
#pragma once

#include <sluice/processor.hpp>
#include <sluice/sink.hpp>
