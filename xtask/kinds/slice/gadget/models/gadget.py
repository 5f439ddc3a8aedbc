class Gadget(object):
    def __init__(self, **kwargs):
        self.swagger_types = {
            'id': 'str',
            'display_name': 'str',
            'compartment_id': 'str',
            'size': 'str',
            'parts': 'list[Part]',
            'lifecycle_state': 'str',
            'lifecycle_details': 'str',
            'time_created': 'datetime',
            'freeform_tags': 'dict(str, str)',
            'defined_tags': 'dict(str, dict(str, object))',
            'system_tags': 'dict(str, dict(str, object))',
        }
        self.attribute_map = {
            'id': 'id',
            'display_name': 'displayName',
            'compartment_id': 'compartmentId',
            'size': 'size',
            'parts': 'parts',
            'lifecycle_state': 'lifecycleState',
            'lifecycle_details': 'lifecycleDetails',
            'time_created': 'timeCreated',
            'freeform_tags': 'freeformTags',
            'defined_tags': 'definedTags',
            'system_tags': 'systemTags',
        }

    @property
    def id(self):
        """
        **[Required]** Gets the id.
        """
        return self._id

    @property
    def display_name(self):
        """
        Gets the display_name.
        """
        return self._display_name

    @property
    def compartment_id(self):
        """
        Gets the compartment_id.
        """
        return self._compartment_id

    @property
    def size(self):
        """
        Gets the size.
        """
        return self._size

    @property
    def parts(self):
        """
        Gets the parts.
        """
        return self._parts

    @property
    def lifecycle_state(self):
        """
        **[Required]** Gets the lifecycle_state.
        """
        return self._lifecycle_state

    @property
    def lifecycle_details(self):
        """
        Gets the lifecycle_details.
        """
        return self._lifecycle_details

    @property
    def time_created(self):
        """
        Gets the time_created.
        """
        return self._time_created

    @property
    def freeform_tags(self):
        """
        Gets the freeform_tags.
        """
        return self._freeform_tags

    @property
    def defined_tags(self):
        """
        Gets the defined_tags.
        """
        return self._defined_tags

    @property
    def system_tags(self):
        """
        Gets the system_tags.
        """
        return self._system_tags

    @lifecycle_state.setter
    def lifecycle_state(self, lifecycle_state):
        allowed_values = ["CREATING", "ACTIVE", "PONDERING", "PENDING_DELETION", "DELETED"]
        if not value_allowed_none_or_none_sentinel(lifecycle_state, allowed_values):
            lifecycle_state = 'UNKNOWN_ENUM_VALUE'
        self._lifecycle_state = lifecycle_state
