class GadgetSummary(object):

    def __init__(self, **kwargs):
        self.swagger_types = {
            'id': 'str',
            'display_name': 'str',
            'lifecycle_state': 'str',
            'freeform_tags': 'dict(str, str)',
        }
        self.attribute_map = {
            'id': 'id',
            'display_name': 'displayName',
            'lifecycle_state': 'lifecycleState',
            'freeform_tags': 'freeformTags',
        }

    @property
    def id(self):
        """
        Gets the id.
        """
        return self._id

    @property
    def display_name(self):
        """
        Gets the display_name.
        """
        return self._display_name

    @property
    def lifecycle_state(self):
        """
        Gets the lifecycle_state.
        """
        return self._lifecycle_state

    @property
    def freeform_tags(self):
        """
        Gets the freeform_tags.
        """
        return self._freeform_tags
