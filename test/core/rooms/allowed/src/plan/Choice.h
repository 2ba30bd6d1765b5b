// A choice.
#include "Box.h"
