-- By content a letter finds the later one of the same message that was filed before it. Few letters are of messages that
-- had been handed out before, and a flood of equal ones must not make each look at all the others.
CREATE INDEX dead_letters_overtaking ON dead_letters (content_hash, first_failed_at) WHERE attempts > 1;
