import BellhopRules

/// What the client gets beside the words: Expo's `data`, which takes values of every kind.
///
/// First what Bellhop says itself (``OwnFields``), then the members of the event's `data`, each as it came. Of one name, the
/// first one written stays; `null` and empty names are left out. The notification's id is among them since Expo, too, may
/// deliver twice.
struct ExpoData {
    let message: PushMessage

    /// Writes the members; where the event's own data is left out although there is some, `dataOmitted` says so.
    ///
    /// Past `most` bytes the rest is skipped, since nobody will send it: an event may bring 256 KiB.
    func write(into json: inout JSONBytes, withOwnData: Bool, atMost most: Int) {
        OwnFields(message: message, form: .values).write(into: &json, withMetadata: withOwnData)
        guard withOwnData else {
            if message.hasOwnData { json.add("dataOmitted", true) }
            return
        }
        guard message.wantsData else { return }
        let names = message.clientNames
        for member in message.data.members where isFree(member, names) {
            guard json.count <= most else { return }
            json.add(foreign: member.key, member.value)
        }
    }

    /// Whether a member may be written: it says something, and under a name that is not ours.
    private func isFree(_ member: JSONObject.Member, _ names: ClientNames) -> Bool {
        member.value != .null && !member.key.isEmpty && !message.isOwnName(member.key, names)
    }
}
