"""Why a call is or would be refused: the checks of its admission, one by one."""
