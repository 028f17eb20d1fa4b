"""What passes between the stages: what arrived, partials, messages to be written."""
