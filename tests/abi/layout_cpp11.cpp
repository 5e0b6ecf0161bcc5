// The layout as C++11 sees it.
#include "abi/abi_layout.h"
