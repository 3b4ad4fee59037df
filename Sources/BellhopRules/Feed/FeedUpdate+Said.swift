extension FeedUpdate {
    /// Returns the change that a signed-in user makes to the user's data, by the rules of the feed message of this
    /// type, or the rejection.
    ///
    /// `fields` are those of the message without the user, which the token names. The update has no source time,
    /// because it is made now.
    package static func said(
        by user: UserID,
        of app: AppID,
        _ type: FeedType,
        _ fields: JSONObject
    ) -> Result<FeedUpdate, Rejection> {
        var fields = fields
        fields["userId"] = .string(user.text)
        do throws(FieldFault) {
            let change = try FeedChange(type, FieldReader(fields, at: .root))
            return .success(FeedUpdate(app: app, sentAt: nil, change: change))
        } catch {
            return .failure(Rejection(error, app: app, type: nil, id: nil))
        }
    }
}
