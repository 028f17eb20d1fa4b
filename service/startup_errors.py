"""Why the service cannot start. Each message is for the user: what was found, what to do.

* StartupError
  - JavaError       no Java, or one too old
  - JarsError       the broker's jars could not be downloaded
  - BrokerError     the embedded broker does not start, or a folder is in use
  - TopicError      the topics cannot be read or created
  - KafkaRefuses    Kafka does not let us in: a certificate, a password; also while running
  - KafkaAway       Kafka did not answer for as long as the settings allow; also while running
"""


class StartupError(Exception):
    """Base class; a command shows its text without a traceback."""


class JavaError(StartupError):
    pass


class JarsError(StartupError):
    pass


class BrokerError(StartupError):
    pass


class TopicError(StartupError):
    pass


class KafkaRefuses(StartupError):
    pass


class KafkaAway(StartupError):
    pass
