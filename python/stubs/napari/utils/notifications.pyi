from types import TracebackType

class _NotificationManager:
    def receive_error(
        self, exctype: type[BaseException], value: BaseException, traceback: TracebackType | None
    ) -> None: ...

notification_manager: _NotificationManager

def show_error(message: str) -> None: ...
def show_info(message: str) -> None: ...
