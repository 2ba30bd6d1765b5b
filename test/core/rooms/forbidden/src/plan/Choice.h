// A choice.
#include "Device.h"
