import BellhopRules
import Testing

@Suite("Rules for all channels")
struct GeneralRuleTests {
    @Test("a notification without obstacles is in the app and goes to every device")
    func nothingInTheWay() throws {
        let decision = Decision(try DecisionSample.facts())
        #expect(decision.isRecorded)
        #expect(decision.push == nil)
        #expect(decision.devices.map(\.device.platform) == [.ios, .android, .web])
        #expect(decision.devices.allSatisfy { $0.outcome == .send })
        #expect(decision.email == nil)
    }

    @Test("a notification expires exactly at its expiry, and is still in the app")
    func expiry() throws {
        for (expiresAt, outcome) in [("2026-03-10T12:00:00Z", Outcome.expire), ("2026-03-10T12:00:00.000001Z", .send)] {
            let decision = Decision(try DecisionSample.facts { $0.expiresAt = try at(expiresAt) })
            #expect(decision.outcome(.ios) == outcome, "\(expiresAt)")
            #expect(decision.isRecorded)
        }
    }

    @Test("a replaced notification and a read one are not pushed")
    func history() throws {
        let superseded = Decision(try DecisionSample.facts { $0.history.isSuperseded = true })
        #expect(superseded.push == .suppress(.superseded))
        let read = Decision(try DecisionSample.facts { $0.history.isRead = true })
        #expect(read.push == .suppress(.alreadyRead))
        #expect(superseded.isRecorded && read.isRecorded)
    }

    @Test(
        "a type for some roles reaches followers in them, and leaves no record for others",
        arguments: [("owner", true), ("deputy", true), ("observer", false), (nil, false)] as [(String?, Bool)]
    )
    func roles(role: String?, isReached: Bool) throws {
        let decision = Decision(
            try DecisionSample.facts("approval") {
                $0.follow = DecisionFacts.Follow(role: role.flatMap(FollowRole.init(validating:)))
            }
        )
        #expect(decision.push == (isReached ? nil : .suppress(.notAddressed)))
        #expect(decision.isRecorded == isReached)
    }

    @Test("roles do not apply to named users or to a type for all roles")
    func rolesOfOthers() throws {
        #expect(Decision(try DecisionSample.facts("approval")).outcome(.ios) == .send)
        let observer = DecisionFacts.Follow(role: FollowRole(validating: "observer"))
        #expect(Decision(try DecisionSample.facts { $0.follow = observer }).outcome(.ios) == .send)
    }

    @Test("the master toggle suppresses everything except the record in the app")
    func master() throws {
        let decision = Decision(
            try DecisionSample.facts("alarm") { $0.recipient.preferences = DecisionSample.preferences(enabled: false) }
        )
        #expect(decision.push == .suppress(.muted))
        #expect(decision.email == .suppress(.muted))
        #expect(decision.isRecorded)
    }

    @Test("a type's toggle overrides the catalogue's default in both directions, and without one the default applies")
    func toggles() throws {
        let off = DecisionSample.preferences(toggles: ["order": false])
        let on = DecisionSample.preferences(toggles: ["notice": true])
        #expect(Decision(try DecisionSample.facts { $0.recipient.preferences = off }).push == .suppress(.typeMuted))
        #expect(Decision(try DecisionSample.facts("notice") { $0.recipient.preferences = on }).outcome(.ios) == .send)
        for said in [nil, DecisionSample.preferences()] {
            #expect(Decision(try DecisionSample.facts { $0.recipient.preferences = said }).outcome(.ios) == .send)
            let notice = Decision(try DecisionSample.facts("notice") { $0.recipient.preferences = said })
            #expect(notice.push == .suppress(.typeMuted))
            #expect(notice.isRecorded)
        }
    }

    @Test("a muted topic suppresses its events")
    func topic() throws {
        let muted = Decision(try DecisionSample.facts { $0.follow = DecisionFacts.Follow(isMuted: true) })
        #expect(muted.push == .suppress(.topicMuted))
        #expect(muted.isRecorded)
        #expect(Decision(try DecisionSample.facts { $0.follow = DecisionFacts.Follow() }).outcome(.ios) == .send)
    }

    @Test("a user who has stopped following gets no record for any type, and a named user is not checked")
    func unfollowed() throws {
        for type in ["order", "approval", "terms"] {
            let left = Decision(try DecisionSample.facts(type) { $0.follow = .ended })
            #expect(left.push == .suppress(.unfollowed))
            #expect(!left.isRecorded)
        }
        #expect(Decision(try DecisionSample.facts("order")).outcome(.ios) == .send)
    }

    @Test("only the following device gets the push, and the notification is in the app")
    func oneDevice() throws {
        let facts = try DecisionSample.facts { facts in
            let android = facts.recipient.devices.first { $0.platform == .android }
            facts.follow = DecisionFacts.Follow(devices: [try #require(android).subscription])
        }
        let decision = Decision(facts)
        #expect(decision.isRecorded)
        #expect(decision.outcome(.android) == .send)
        #expect(decision.outcome(.ios) == .suppress(.otherDevice))
        #expect(decision.outcome(.web) == .suppress(.otherDevice))
    }

    @Test("a type that is dropped when muted leaves no record, however it is muted, and expiry is not muting")
    func whenMuted() throws {
        let ways: [(inout DecisionFacts) -> Void] = [
            { $0.recipient.preferences = DecisionSample.preferences(enabled: false) },
            { $0.recipient.preferences = DecisionSample.preferences(toggles: ["secret": false]) },
            { $0.follow = DecisionFacts.Follow(isMuted: true) },
        ]
        for mute in ways { #expect(!Decision(try DecisionSample.facts("secret", mute)).isRecorded) }
        #expect(Decision(try DecisionSample.facts("secret")).isRecorded)
        #expect(Decision(try DecisionSample.facts("secret") { $0.expiresAt = $0.now }).isRecorded)
        #expect(Decision(try DecisionSample.facts("secret") { $0.recipient.pushEnabled = false }).isRecorded)
    }

    @Test("no toggle or topic suppresses a mandatory type")
    func mandatory() throws {
        let everythingOff = DecisionSample.preferences(enabled: false, toggles: ["terms": false])
        let decision = Decision(
            try DecisionSample.facts("terms") {
                $0.recipient.preferences = everythingOff
                $0.follow = DecisionFacts.Follow(isMuted: true)
            }
        )
        #expect(decision.outcome(.ios) == .send)
        #expect(decision.email == .send)
    }

    @Test("a mandatory type is still subject to permission, disabled pushes, quiet hours and expiry")
    func limitsOfMandatory() throws {
        func decide(at now: String = DecisionSample.noon, _ change: (inout DecisionFacts) throws -> Void) throws
            -> Outcome?
        {
            Decision(try DecisionSample.facts("terms", at: now, change)).outcome(.ios)
        }
        #expect(
            try decide { $0.recipient.devices = [try DecisionSample.device(.ios, .apns, .denied)] }
                == .suppress(.noPermission)
        )
        #expect(try decide { $0.recipient.pushEnabled = false } == .suppress(.pushDisabled))
        #expect(try decide { $0.expiresAt = $0.now } == .expire)
        let quiet = try decide(at: DecisionSample.night) { $0.recipient.preferences = DecisionSample.quietNights }
        let morning = try at(DecisionSample.morning)
        #expect(quiet == .wait(Wait(.quietHours, until: morning)))
    }
}

@Suite("Rules for e-mail")
struct EmailRuleTests {
    @Test("a mailed type goes to users with an address who permit it, and no other type is mailed")
    func email() throws {
        #expect(Decision(try DecisionSample.facts("alarm")).email == .send)
        #expect(Decision(try DecisionSample.facts("order")).email == nil)
        #expect(
            Decision(try DecisionSample.facts("alarm") { $0.recipient.emailEnabled = false }).email
                == .suppress(.emailDisabled)
        )
        #expect(Decision(try DecisionSample.facts("alarm") { $0.recipient.email = nil }).email == .suppress(.noAddress))
        #expect(
            Decision(
                try DecisionSample.facts("order") {
                    $0.recipient.preferences = DecisionSample.preferences(enabled: false)
                }
            ).email
                == nil
        )
    }

    @Test("an event with noEmail is never mailed, whatever its type, its user and the address")
    func neverMailed() throws {
        let decision = Decision(try DecisionSample.facts("alarm") { $0.isNeverMailed = true })
        #expect(decision.email == .suppress(.notMailed))
        #expect(decision.isRecorded && decision.devices.allSatisfy { $0.outcome == .send })
        #expect(Decision(try DecisionSample.facts("order") { $0.isNeverMailed = true }).email == nil)
    }

    @Test("devices, quiet hours and digests do not delay e-mail")
    func silence() throws {
        let decision = Decision(
            try DecisionSample.facts("news", at: DecisionSample.night) {
                $0.recipient.preferences = DecisionSample.quietNights
                $0.recipient.pushEnabled = false
            }
        )
        #expect(decision.push == .suppress(.pushDisabled))
        #expect(decision.email == .send)
    }

    @Test("a type mailed and not pushed by default goes by e-mail alone, until the user changes its toggle")
    func emailAlone() throws {
        let usual = Decision(try DecisionSample.facts("letter"))
        #expect(usual.email == .send)
        #expect(usual.push == .suppress(.typeMuted))
        let on = Decision(
            try DecisionSample.facts("letter") {
                $0.recipient.preferences = DecisionSample.preferences(toggles: ["letter": true])
            }
        )
        #expect(on.email == .send)
        #expect(on.outcome(.ios) == .send)
        let off = Decision(
            try DecisionSample.facts("letter") {
                $0.recipient.preferences = DecisionSample.preferences(toggles: ["letter": false])
            }
        )
        #expect(off.email == .suppress(.typeMuted))
        #expect(off.push == .suppress(.typeMuted))
    }

    @Test("an expired or read notification is not mailed")
    func tooLate() throws {
        #expect(Decision(try DecisionSample.facts("alarm") { $0.expiresAt = $0.now }).email == .expire)
        #expect(
            Decision(try DecisionSample.facts("alarm") { $0.history.isRead = true }).email == .suppress(.alreadyRead)
        )
    }

    @Test(
        "a choice for e-mail decides about the mail alone, and without one the type's toggle decides about both",
        arguments: [
            (true, nil, true, true), (true, false, true, false), (false, true, false, true), (false, nil, false, false),
            (false, false, false, false), (nil, false, true, false), (nil, nil, true, true),
        ] as [(Bool?, Bool?, Bool, Bool)]
    )
    func channels(toggle: Bool?, email: Bool?, isPushed: Bool, isMailed: Bool) throws {
        let facts = try DecisionSample.facts("alarm") { facts in
            facts.recipient.preferences = DecisionSample.preferences(
                toggles: toggle.map { ["alarm": .bool($0)] } ?? [:],
                emailToggles: email.map { ["alarm": .bool($0)] }
            )
        }
        let decision = Decision(facts)
        #expect(decision.outcome(.ios) == (isPushed ? .send : .suppress(.typeMuted)))
        #expect(decision.email == (isMailed ? .send : .suppress(.typeMuted)))
        #expect(decision.isRecorded)
    }

    @Test("a choice for e-mail adds no mail to a type without mails, and silences no mandatory type")
    func channelsOfOthers() throws {
        let on = DecisionSample.preferences(toggles: ["order": false], emailToggles: ["order": true])
        let order = Decision(try DecisionSample.facts { $0.recipient.preferences = on })
        #expect(order.email == nil && order.push == .suppress(.typeMuted))
        let off = DecisionSample.preferences(emailToggles: ["terms": false])
        #expect(Decision(try DecisionSample.facts("terms") { $0.recipient.preferences = off }).email == .send)
    }

    @Test("the finding about a channel names the user's preferences")
    func channelFindings() throws {
        let facts = try DecisionSample.facts("alarm") {
            $0.recipient.preferences = DecisionSample.preferences(
                toggles: ["alarm": false],
                emailToggles: ["alarm": true]
            )
        }
        let steps = Decision.explained(facts).steps.filter { $0.rule == .type }
        #expect(steps.map(\.finding) == ["on, by the user's preferences", "not pushed, by the user's preferences"])
    }
}
