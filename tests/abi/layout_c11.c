/* The layout as C11 sees it. */
#include "abi/abi_layout.h"

/* The text of the symbol that hosts look up is the name of the function. */
const sluice_module* (*const entry)(void) = sluice_module_v1;

const sluice_module* sluice_module_v1(void) { return 0; }
