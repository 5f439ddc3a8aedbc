class UpdateGadgetDetails(object):

    def __init__(self, **kwargs):
        self.swagger_types = {
            'display_name': 'str',
            'parts': 'list[Part]',
            'is_paused': 'bool',
            'options': 'UpdateOptions',
            'freeform_tags': 'dict(str, str)',
            'defined_tags': 'dict(str, dict(str, object))',
        }
        self.attribute_map = {
            'display_name': 'displayName',
            'parts': 'parts',
            'is_paused': 'isPaused',
            'options': 'options',
            'freeform_tags': 'freeformTags',
            'defined_tags': 'definedTags',
        }

    @property
    def display_name(self):
        """
        **[Required]** Gets the display_name.
        """
        return self._display_name

    @property
    def parts(self):
        """
        Gets the parts.
        """
        return self._parts

    @property
    def is_paused(self):
        """
        Gets the is_paused.
        """
        return self._is_paused

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
